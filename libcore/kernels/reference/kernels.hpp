#pragma once
// The reference kernels: the public functions as plain loops. Sums are in double.

#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/head_norm.hpp"
#include "kernels/linear.hpp"
#include "kernels/newton_schulz.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer_step.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softcap.hpp"

namespace dt::kernels::reference {

// activation.hpp
template <class T>
void activation(const Context&, Activation f, const Tensor& x_RF, const Tensor& y_RF);
template <class T>
void activation_backward(const Context&, Activation f, const Tensor& dy_RF, const Tensor& x_RF,
                         const Tensor& dx_RF);
template <class T>
void gated_activation(const Context&, Activation f, const Tensor& gate_up_RG, const Tensor& y_RF);
template <class T>
void gated_activation_backward(const Context&, Activation f, const Tensor& dy_RF, const Tensor& gate_up_RG,
                               const Tensor& dgate_up_RG);

// attention.hpp
template <class T>
void attention(const Context&, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
               const Tensor& max_scores_H);
template <class T>
void attention_backward(const Context&, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients);
template <class T>
void merge_attention(const Context&, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to);
void first_visible(const Context&, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R);
void document_starts(const Context&, const Tensor& bounds_N1, const Tensor& first_R);

// cross_entropy.hpp
template <class T>
void cross_entropy(const Context&, const Tensor& logits_RV, const Tensor& labels_R,
                   const TokenLosses& losses);
template <class T>
void cross_entropy_gradient(const Context&, const Tensor& labels_R, const LossGradient& gradient,
                            const TokenLosses& losses, const Tensor& logits_RV);
template <class T>
void cross_entropy_partial(const Context&, const Tensor& logits_RV, const Tensor& labels_R, DimShard columns,
                           const Tensor& part_3R);
void cross_entropy_from_partials(const Context&, const Tensor& parts_N3R, const Tensor& labels_R,
                                 const TokenLosses& losses);
template <class T>
void cross_entropy_gradient_from_partials(const Context&, const Tensor& parts_N3R, const Tensor& labels_R,
                                          DimShard columns, const LossGradient& gradient,
                                          const TokenLosses& losses, const Tensor& logits_RV);

// elementwise.hpp
template <class T>
void add(const Context&, const Tensor& a, const Tensor& b, const Tensor& y);
template <class T>
void add_bias_residual(const Context&, const Tensor& x_RN, const Tensor& bias_N, const Tensor& residual_RN,
                       const Tensor& y_RN);
template <class T>
void scale_add(const Context&, double scale, const Tensor& x, const Tensor& residual, const Tensor& y);
template <class T>
void accumulate(const Context&, const Tensor& source, const Tensor& target);
void cast(const Context&, const Tensor& source, const Tensor& target);
void cast_columns(const Context&, const ColumnBlock& source, const ColumnBlock& target, std::int64_t width);
void fill(const Context&, double value, const Tensor& target);
template <class T>
void sum_squares_by_block(const Context&, const Tensor& x, const Tensor& partials_N);

// embedding.hpp
template <class T>
void embedding(const Context&, const Tensor& ids_R, const Tensor& table_VC, bool add, const Tensor& y_RC,
               DimShard shard);
template <class T>
void embedding_backward(const Context&, const Tensor& ids_R, const Tensor& dy_RC, const Tensor& dtable_VC,
                        DimShard shard);

// head_norm.hpp
template <class T>
void head_norm_squares(const Context&, const HeadNorm& norm, const Columns& x, const Tensor& squares_RG);
template <class T>
void head_norm(const Context&, const HeadNorm& norm, const Tensor& weight_W, const Tensor& squares_RG,
               const Columns& x, const Tensor& x_RN, const Tensor& rstd_RG);
template <class T>
void head_norm_products(const Context&, const HeadNorm& norm, const Tensor& weight_W, const Columns& dy,
                        const Tensor& x_RN, const Tensor& products_RG);
template <class T>
void head_norm_backward(const Context&, const HeadNorm& norm, const Tensor& weight_W,
                        const Tensor& products_RG, const Columns& dy, const Tensor& x_RN,
                        const Tensor& rstd_RG, const Tensor& dweight_W);

// linear.hpp
template <class T>
void linear(const Context&, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN);
template <class T>
void linear_backward_input(const Context&, const Tensor& dy_RN, const Tensor& w_NK, const Tensor& dx_RK);
template <class T>
void linear_backward_weight(const Context&, const Tensor& dy_RN, const Tensor& x_RK, const Tensor& dw_NK,
                            const Tensor& dbias_N);
template <class T>
void bias_backward(const Context&, const Tensor& dy_RN, const Tensor& dbias_N);

// newton_schulz.hpp
template <class T>
void newton_schulz(const Context&, const Tensor& u_RC, const Tensor& x_RC);

// norm.hpp
template <class T>
void layer_norm(const Context&, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C, double eps,
                const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one);
template <class T>
void layer_norm_backward(const Context&, const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                         const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dresidual_RC,
                         const Tensor& dx_RC, const Tensor& dweight_C, const Tensor& dbias_C, bool plus_one);
template <class T>
void rms_norm(const Context&, const Tensor& x_RC, const Tensor& weight_C, double eps, const Tensor& y_RC,
              const Tensor& rstd_R, bool plus_one);
template <class T>
void rms_norm_backward(const Context&, const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                       const Tensor& rstd_R, const Tensor& dresidual_RC, const Tensor& dx_RC,
                       const Tensor& dweight_C, bool plus_one);

// optimizer_step.hpp
template <class T>
void optimizer_step(const Context&, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy);
int num_optimizer_states(const OptimizerSettings& settings);

// rotary.hpp
/// Returns the number of features of a head that rotate, before it is rounded up.
std::int64_t num_rotary_features(const RotaryFrequencies& frequencies, std::int64_t head_dim);
template <class T>
void rotary_tables(const RotaryFrequencies& frequencies, std::int64_t head_dim, std::int64_t sequence,
                   const Tensor& cos_PF, const Tensor& sin_PF);
template <class T>
void query_factors(const RotaryFrequencies& frequencies, const Tensor& factor_P);
template <class T>
void rotary(const Context&, const AttentionShape& shape, const Tensor& positions_R, const Rotation& rotation,
            bool inverse, const Tensor& qkv_RE);

// softcap.hpp
template <class T>
void scale_and_softcap(const Context&, double scale, double cap, const Tensor& x_RV);

}  // namespace dt::kernels::reference
