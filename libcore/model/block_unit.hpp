#pragma once
// A pre-norm residual block: x1 = x + attention(norm(x)); y = x1 + mlp(norm(x1)).
// Legend: R rows, C hidden.

#include "model/attention_layer.hpp"
#include "model/mlp_layer.hpp"
#include "model/norm_layer.hpp"
#include "model/unit.hpp"

namespace dt::model {

/// Parameters: those of the first norm, of attention, of the second norm, of the MLP.
class BlockUnit final : public Unit {
 public:
  BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, std::shared_ptr<const RotaryTables> rotary);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return dtype_; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  /// A token takes 3C + (2H + 2K)·D + H elements, G + F of the MLP, and 2 (4 with layer norm) of statistics:
  /// 15C + H + 4 for GPT-2. On top come 2C (4C) for the norms' gradients, once.
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override;

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_RC, const Tensor& y_RC, std::span<std::byte> saved) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x_RC, const Tensor& dy_RC, const Tensor& dx_RC,
                      std::span<std::byte> saved) const override;
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& x_RC,
                       const Tensor& dy_RC, std::span<const Tensor> grads,
                       std::span<std::byte> saved) const override;

 private:
  struct Saved {
    Tensor attention_in_RC;  // the first norm's output
    Tensor x1_RC;      // backward_input puts its gradient, which is that of attention's output, in its place
    Tensor mlp_in_RC;  // the second norm's output
    NormLayer::Saved attention_norm, mlp_norm;
    AttentionLayer::Saved attention;
    MlpLayer::Saved mlp;
  };
  struct Parts {  // of the weights or of the gradients
    std::span<const Tensor> attention_norm, attention, mlp_norm, mlp;
  };
  Saved saved(SavedMemory& memory, std::int64_t batch, std::int64_t sequence) const;
  Saved saved(std::span<std::byte> memory, const MicroBatch& micro_batch) const;
  Parts parts(std::span<const Tensor> tensors) const;

  UnitSpec unit_;
  std::int64_t hidden_;
  DType dtype_;
  NormLayer norm_;
  AttentionLayer attention_;
  MlpLayer mlp_;
};

}  // namespace dt::model
