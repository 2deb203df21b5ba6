#include "kernels/rotary.hpp"

#include "base/numeric/integer.hpp"
#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

std::int64_t num_rotary_frequencies(const RotaryFrequencies& frequencies, std::int64_t head_dim) {
  return ceil_div(reference::num_rotary_features(frequencies, head_dim), 2);
}

void rotary_tables(const RotaryFrequencies& frequencies, std::int64_t head_dim, std::int64_t sequence,
                   const Tensor& cos_PF, const Tensor& sin_PF) {
  constexpr const char* name = "rotary_tables";
  const std::int64_t F = num_rotary_frequencies(frequencies, head_dim);
  check_rank(name, "cos_PF", cos_PF, 2);
  check_tensor(name, "cos_PF", cos_PF, cos_PF.dtype(), {cos_PF.dim(0), F});
  check_tensor(name, "sin_PF", sin_PF, cos_PF.dtype(), {cos_PF.dim(0), F});
  if (const auto& scaling = frequencies.scaling; scaling && scaling->type == RotaryScaling::Type::longrope)
    DT_CHECK(std::ssize(scaling->short_factors) == F && std::ssize(scaling->long_factors) == F,
             "{}: {} short and {} long factors of {} frequencies", name, scaling->short_factors.size(),
             scaling->long_factors.size(), F);
  // Filled once a run, in double for any dtype, so a faster kernel would gain nothing.
  const bool is_double = cos_PF.dtype() == DType::f64;
  (is_double ? reference::rotary_tables<double> : reference::rotary_tables<float>)(frequencies, head_dim,
                                                                                   sequence, cos_PF, sin_PF);
}

void query_factors(const RotaryFrequencies& frequencies, const Tensor& factor_P) {
  check_rank("query_factors", "factor_P", factor_P, 1);
  DT_CHECK(frequencies.scaling && frequencies.scaling->original_positions > 0,
           "query_factors: the frequencies have no original positions");
  const bool is_double = factor_P.dtype() == DType::f64;
  (is_double ? reference::query_factors<double> : reference::query_factors<float>)(frequencies, factor_P);
}

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Rotation& rotation, bool inverse, const Tensor& qkv_RE) {
  const std::int64_t R = shape.batch * shape.sequence, H = shape.query_heads, K = shape.key_value_heads;
  DT_CHECK(K > 0 && H % K == 0, "rotary: {} query heads are no multiple of {} key-value heads", H, K);
  check_tensor("rotary", "qkv_RE", qkv_RE, qkv_RE.dtype(), {R, (H + 2 * K) * shape.head_dim});
  const DType statistics = statistics_dtype(qkv_RE.dtype());
  check_rank("rotary", "cos_PF", rotation.cos_PF, 2);
  const std::int64_t P = rotation.cos_PF.dim(0), F = rotation.cos_PF.dim(1);
  DT_CHECK(2 * F <= shape.head_dim, "rotary: {} frequencies for a head dim of {}", F, shape.head_dim);
  check_tensor("rotary", "cos_PF", rotation.cos_PF, statistics, {P, F});
  check_tensor("rotary", "sin_PF", rotation.sin_PF, statistics, {P, F});
  if (rotation.query_factor_P)
    check_tensor("rotary", "query_factor_P", rotation.query_factor_P, statistics, {P});
  check_tensor("rotary", "positions_R", positions_R, DType::i32, {R});
  if (positions_R.device() == Device::host()) check_ids("rotary", positions_R, 0, P);
  static constexpr Implementations<decltype(rotary)> implementations{
      reference::rotary<double>, reference::rotary<float>, cpu::rotary, &GpuKernels::rotary};
  select_kernel(implementations, context, "rotary", qkv_RE.dtype())(context, shape, positions_R, rotation,
                                                                    inverse, qkv_RE);
}

}  // namespace dt::kernels
