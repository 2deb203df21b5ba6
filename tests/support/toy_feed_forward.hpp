#pragma once
// A feed-forward kind of tests alone: down(relu(up(x))² · scale), whose auxiliary loss is the sum of
// relu(up(x))². A kind that counts rows has a constant loss, too. It lacks nothing that dt asks of a kind.
//
// Legend: R rows, L this rank's rows, C hidden, F features of this rank, A auxiliary losses, N ranks that
// share the layer.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/linear.hpp"
#include "model/layers/feed_forward.hpp"

namespace dt::test {

inline constexpr double toy_coefficient = 0.25;

/// Parameters: up weight, scale, down weight. Computes on the host, in f64 or f32.
class ToyFeedForward final : public model::FeedForward {
 public:
  /// backward_input writes the terms of the scale's gradient over `up`, and the gradient of `up` to the
  /// backward handoff.
  enum SavedIndex : std::size_t { up_RF, hidden_RF, dup_RF };

  ToyFeedForward(const model::ModelSpec& shard, DType dtype, const model::TensorParallelOps& ops,
                 double coefficient)
      : features_(shard.mlp_hidden), dtype_(dtype), ops_(ops), coefficient_(coefficient) {}

  std::size_t num_params() const override { return 3; }
  Saved saved(model::BumpAllocator& memory, model::BumpAllocator& recomputed,
              std::int64_t rows) const override {
    Saved s;
    s.push_back(memory.allocate(dtype_, {rows, features_}));
    s.push_back(recomputed.allocate(dtype_, {rows, features_}));
    return s;
  }
  void add_backward_handoff(Device, model::BumpAllocator& handoff, std::int64_t rows,
                            Saved& saved) const override {
    saved.push_back(handoff.allocate(dtype_, {rows, features_}));
  }
  std::size_t scratch_bytes(Device, std::int64_t rows) const override {
    return static_cast<std::size_t>(rows) *
           std::max(static_cast<std::size_t>(features_) * dtype_bytes(dtype_),
                    static_cast<std::size_t>(ops_.shard().size + 1) * sizeof(double));
  }

  void forward(const Context& context, const model::MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& residual_LC, const Tensor& y_LC,
               const Saved& saved) const override {
    const Arena::Scope scope(context.scratch());
    model::column_parallel(context, ops_, x_LC, weights[0], {}, saved[up_RF]);
    recompute(context, weights, saved);
    if (micro_batch.auxiliary_AR) write_terms(context, saved[up_RF], micro_batch.auxiliary_AR);
    if (y_LC) model::row_parallel(context, ops_, saved[hidden_RF], weights[2], {}, residual_LC, y_LC);
  }
  void recompute(const Context&, std::span<const Tensor> weights, const Saved& saved) const override {
    each_element(
        [&](auto type, std::int64_t row, std::int64_t f) {
          const auto squared = relu_squared(at<decltype(type)>(saved[up_RF], row, f));
          at<decltype(type)>(saved[hidden_RF], row, f) = squared * weights[1].data<decltype(type)>()[f];
        },
        saved[up_RF].dim(0));
  }

  void backward_input(const Context& context, const model::MicroBatch& micro_batch,
                      std::span<const Tensor> weights, model::AsyncAllGather& dy_RC, const Tensor& dx_LC,
                      const Saved& saved, const model::OverlappedWork& overlapped_work) const override {
    const Arena::Scope scope(context.scratch());
    const Tensor dhidden_RF = context.scratch().allocate(dtype_, saved[up_RF].shape());
    model::row_parallel_backward_input(context, dy_RC, weights[2], dhidden_RF);
    const double auxiliary = coefficient_ * micro_batch.auxiliary_scale;
    each_element(
        [&](auto type, std::int64_t row, std::int64_t f) {
          using T = decltype(type);
          T& up = at<T>(saved[up_RF], row, f);
          const T relu = std::max(up, T{0}), dhidden = at<T>(dhidden_RF, row, f);
          const T dsquared = dhidden * weights[1].data<T>()[f] + static_cast<T>(auxiliary);
          at<T>(saved[dup_RF], row, f) = dsquared * 2 * relu;
          up = dhidden * relu * relu;
        },
        saved[up_RF].dim(0));
    model::column_parallel_backward_input(context, ops_, saved[dup_RF], weights[0], dx_LC, {},
                                          overlapped_work);
  }
  void backward_output_weight(const Context& context, std::span<const Tensor> grads, const Tensor& dy_RC,
                              const Saved& saved) const override {
    model::row_parallel_backward_weight(context, ops_, dy_RC, saved[hidden_RF], grads[2], {});
    each_element(
        [&](auto type, std::int64_t row, std::int64_t f) {
          grads[1].data<decltype(type)>()[f] += at<decltype(type)>(saved[up_RF], row, f);
        },
        saved[up_RF].dim(0));
  }
  void backward_input_weight(const Context& context, std::span<const Tensor> grads, const Tensor& x_RC,
                             const Saved& saved) const override {
    kernels::linear_backward_weight(context, saved[dup_RF], x_RC, grads[0], {});
  }

 private:
  template <class T>
  static T relu_squared(T up) {
    return up > 0 ? up * up : T{0};
  }
  template <class T>
  T& at(const Tensor& tensor_RF, std::int64_t row, std::int64_t f) const {
    return tensor_RF.data<T>()[row * features_ + f];
  }
  /// Calls body(type, row, feature) with a value of the layer's element type, row by row.
  template <class Body>
  void each_element(const Body& body, std::int64_t rows) const {
    for (std::int64_t i = 0; i < rows * features_; ++i) {
      if (dtype_ == DType::f64)
        body(double{}, i / features_, i % features_);
      else
        body(float{}, i / features_, i % features_);
    }
  }
  /// Sums over the features of all ranks that share the layer, in their order. Terms of the constant
  /// loss, which comes first, are 1.
  void write_terms(const Context& context, const Tensor& up, const Tensor& terms_AR) const {
    const std::int64_t rows = up.dim(0), ranks = ops_.shard().size;
    const std::int64_t others = (terms_AR.dim(0) - 1) * rows;
    std::fill_n(terms_AR.data<double>(), others, 1.0);
    double* const terms_R = terms_AR.data<double>() + others;
    const Arena::Scope scope(context.scratch());
    const Tensor own_R = context.scratch().allocate(DType::f64, {rows});
    std::fill_n(own_R.data<double>(), rows, 0.0);
    each_element(
        [&](auto type, std::int64_t row, std::int64_t f) {
          own_R.data<double>()[row] += static_cast<double>(relu_squared(at<decltype(type)>(up, row, f)));
        },
        rows);
    Tensor all_NR = own_R;
    if (ranks > 1) {
      all_NR = context.scratch().allocate(DType::f64, {ranks, rows});
      model::wait(context, ops_.start_all_gather(own_R, all_NR));
    }
    std::fill_n(terms_R, rows, 0.0);
    for (std::int64_t i = 0; i < ranks * rows; ++i) terms_R[i % rows] += all_NR.data<double>()[i];
  }

  std::int64_t features_;
  DType dtype_;
  const model::TensorParallelOps& ops_;
  double coefficient_;
};

class ToyKind final : public model::FeedForwardKind {
 public:
  constexpr explicit ToyKind(double coefficient = toy_coefficient, bool counts_rows = false)
      : coefficient_(coefficient), counts_rows_(counts_rows) {}

  std::vector<model::ParamSpec> parameters(const model::ModelSpec& s) const override {
    const std::int64_t F = s.mlp_hidden;
    return {{"toy.up.weight", {F, s.hidden}, model::normal_init(s), true, {{0, F}}, false},
            {"toy.scale", {F}, {model::Init::Kind::ones, 0}, false, {{0, F}}, false},
            {"toy.down.weight", {s.hidden, F}, model::residual_init(s), true, {{1, F}}, false}};
  }
  std::vector<model::FeedForwardStep> steps(const model::ModelSpec& s) const override {
    using enum model::FeedForwardStep::Kind;
    return {{product, "toy up", s.hidden, s.mlp_hidden},
            {elementwise, "relu²", s.mlp_hidden, s.mlp_hidden},
            {product, "toy down", s.mlp_hidden, s.hidden}};
  }
  std::int64_t max_shards(const model::ModelSpec& s) const override { return s.mlp_hidden; }
  std::vector<model::AuxiliaryLoss> auxiliary_losses(const model::ModelSpec&) const override {
    if (counts_rows_) return {{"toy_rows", toy_coefficient}, {"toy_squares", coefficient_}};
    return {{"toy_squares", coefficient_}};
  }
  std::unique_ptr<model::FeedForward> make(const model::ModelSpec& shard, DType dtype,
                                           const model::TensorParallelOps& ops) const override {
    return std::make_unique<ToyFeedForward>(shard, dtype, ops, coefficient_);
  }

 private:
  double coefficient_;
  bool counts_rows_;
};

inline const model::FeedForwardKind& toy_kind() {
  static constexpr ToyKind kind;
  return kind;
}

}  // namespace dt::test
