#include "model/layers/mlp_layer.hpp"

#include <algorithm>

#include "kernels/linear.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"

namespace dt::model {

namespace {

class MlpKind final : public FeedForwardKind {
 public:
  constexpr explicit MlpKind(MlpActivation activation) : activation_(activation) {}

  std::vector<ParamSpec> parameters(const ModelSpec& s) const override {
    const bool gated = activation_.gated;
    const Splits features{{0, s.mlp_hidden}};
    std::vector<ParamSpec> all;
    const auto add = [&](const char* name, Shape shape, Init init, Splits splits, bool joins = false) {
      const bool decays = shape.rank() > 1;
      all.push_back({name, std::move(shape), init, decays, std::move(splits), joins});
    };
    if (gated) add("mlp.gate.weight", {s.mlp_hidden, s.hidden}, normal_init(s), features);
    add("mlp.up.weight", {s.mlp_hidden, s.hidden}, normal_init(s), features, gated);
    if (s.mlp_bias) {
      if (gated) add("mlp.gate.bias", {s.mlp_hidden}, {}, features);
      add("mlp.up.bias", {s.mlp_hidden}, {}, features, gated);
    }
    add("mlp.down.weight", {s.hidden, s.mlp_hidden}, residual_init(s), {{1, s.mlp_hidden}});
    if (s.mlp_bias) add("mlp.down.bias", {s.hidden}, {}, {});
    return all;
  }
  std::vector<FeedForwardStep> steps(const ModelSpec& s) const override {
    const std::int64_t up = (activation_.gated ? 2 : 1) * s.mlp_hidden;
    using enum FeedForwardStep::Kind;
    return {{product, "MLP up", s.hidden, up, s.mlp_bias},
            {elementwise, "activation", up, s.mlp_hidden},
            {product, "MLP down", s.mlp_hidden, s.hidden, s.mlp_bias}};
  }
  std::int64_t max_shards(const ModelSpec& s) const override { return s.mlp_hidden; }
  std::unique_ptr<FeedForward> make(const ModelSpec& shard, DType dtype,
                                    const TensorParallelOps& ops) const override {
    return std::make_unique<MlpLayer>(activation_, shard, dtype, ops);
  }

 private:
  MlpActivation activation_;
};

}  // namespace

using enum kernels::Activation;
const FeedForwardKind& gelu_mlp() {
  static constexpr MlpKind kind({gelu, false});
  return kind;
}
const FeedForwardKind& swiglu_mlp() {
  static constexpr MlpKind kind({silu, true});
  return kind;
}
const FeedForwardKind& geglu_mlp() {
  static constexpr MlpKind kind({gelu, true});
  return kind;
}
const FeedForwardKind& gelu_erf_mlp() {
  static constexpr MlpKind kind({gelu_erf, false});
  return kind;
}
const FeedForwardKind& relu2_mlp() {
  static constexpr MlpKind kind({relu2, false});
  return kind;
}

void MlpActivation::forward(const Context& context, const Tensor& x_RG, const Tensor& y_RF) const {
  (gated ? kernels::gated_activation : kernels::activation)(context, function, x_RG, y_RF);
}

void MlpActivation::backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RG,
                             const Tensor& dx_RG) const {
  (gated ? kernels::gated_activation_backward : kernels::activation_backward)(context, function, dy_RF, x_RG,
                                                                              dx_RG);
}

MlpLayer::MlpLayer(MlpActivation activation, const ModelSpec& shard, DType dtype,
                   const TensorParallelOps& ops)
    : activation_(activation), bias_(shard.mlp_bias), features_(shard.mlp_hidden), dtype_(dtype), ops_(ops) {}

std::int64_t MlpLayer::backward_rows(Device device, std::int64_t rows) {
  constexpr std::int64_t most_on_host = 1024;
  return device == Device::host() ? std::min(rows, most_on_host) : rows;
}

MlpLayer::Saved MlpLayer::saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t rows) const {
  Saved s;
  s.push_back(memory.allocate(dtype_, {rows, (activation_.gated ? 2 : 1) * features_}));
  s.push_back(recomputed.allocate(dtype_, {rows, features_}));
  return s;
}

std::size_t MlpLayer::scratch_bytes(Device device, std::int64_t rows) const {
  return static_cast<std::size_t>(backward_rows(device, rows) * features_) * dtype_bytes(dtype_);
}

void MlpLayer::forward(const Context& context, const MicroBatch&, std::span<const Tensor> weights,
                       const Tensor& x_LC, const Tensor& residual_LC, const Tensor& y_LC,
                       const Saved& saved) const {
  const Params w = params(weights);
  const Arena::Scope scope(context.scratch());
  AsyncAllGather x_RC = all_gather_rows_async(context, ops_, x_LC);
  const auto make_hidden = [&](std::int64_t begin, std::int64_t end) {
    const Saved s{saved[up_RG].rows(begin, end), saved[hidden_RF].rows(begin, end)};
    const Tensor x = x_RC.wait_for(begin).rows(begin, end);
    kernels::linear(context, x, w.up_weight_GC, w.up_bias_G, {}, s[up_RG]);
    recompute(context, weights, s);
  };
  if (!y_LC) return for_product_chunks(ops_, saved[up_RG].dim(0), make_hidden);
  row_parallel(context, ops_, saved[hidden_RF], w.down_weight_CF, w.down_bias_C, residual_LC, y_LC,
               make_hidden);
}

void MlpLayer::recompute(const Context& context, std::span<const Tensor>, const Saved& saved) const {
  activation_.forward(context, saved[up_RG], saved[hidden_RF]);
}

void MlpLayer::backward_input(const Context& context, const MicroBatch&, std::span<const Tensor> weights,
                              AsyncAllGather& dy_RC, const Tensor& dx_LC, const Saved& saved,
                              const OverlappedWork& overlapped_work) const {
  const Params w = params(weights);
  const std::int64_t step = backward_rows(context.device(), saved[up_RG].dim(0));
  Arena::Scope scope(context.scratch());
  const Tensor memory = context.scratch().allocate(dtype_, {step, features_});
  const auto make_dup = [&](std::int64_t first, std::int64_t last) {
    const Tensor& dy = dy_RC.wait_for(first);
    for (std::int64_t begin = first; begin < last; begin += step) {
      const std::int64_t end = std::min(begin + step, last);
      const Tensor up = saved[up_RG].rows(begin, end), dhidden_RF = memory.rows(0, end - begin);
      kernels::linear_backward_input(context, dy.rows(begin, end), w.down_weight_CF, dhidden_RF);
      activation_.backward(context, dhidden_RF, up, up);
    }
  };
  column_parallel_backward_input(context, ops_, saved[up_RG], w.up_weight_GC, dx_LC, make_dup,
                                 overlapped_work);
}

void MlpLayer::backward_output_weight(const Context& context, std::span<const Tensor> grads,
                                      const Tensor& dy_RC, const Saved& saved) const {
  const Params g = params(grads);
  row_parallel_backward_weight(context, ops_, dy_RC, saved[hidden_RF], g.down_weight_CF, g.down_bias_C);
}

void MlpLayer::backward_input_weight(const Context& context, std::span<const Tensor> grads,
                                     const Tensor& x_RC, const Saved& saved) const {
  const Params g = params(grads);
  kernels::linear_backward_weight(context, saved[up_RG], x_RC, g.up_weight_GC, g.up_bias_G);
}

MlpLayer::Params MlpLayer::params(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == num_params(), "{} tensors for {} parameters", tensors.size(), num_params());
  const std::size_t ups = activation_.gated ? 2 : 1;
  Params p;
  p.up_weight_GC = fused_view(tensors.first(ups));
  if (bias_) p.up_bias_G = fused_view(tensors.subspan(ups, ups));
  const auto down = tensors.subspan(bias_ ? 2 * ups : ups);
  p.down_weight_CF = down[0];
  if (bias_) p.down_bias_C = down[1];
  return p;
}

}  // namespace dt::model
