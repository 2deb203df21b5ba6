#pragma once
// The final norm, the logits and the loss. Legend: R rows, C hidden, V vocabulary.

#include "model/norm_layer.hpp"
#include "model/unit.hpp"

namespace dt::model {

/// Parameters: those of the final norm, then the head's matrix or, where it is tied, the token table.
class HeadUnit final : public Unit {
 public:
  HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return DType::f64; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override { return {batch * sequence}; }
  /// A token takes V + C elements and 1 (2 with layer norm) of statistics. On top comes C (2C), once.
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override;

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_RC, const Tensor& nll_R, std::span<std::byte> saved) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x_RC, const Tensor& dy, const Tensor& dx_RC,
                      std::span<std::byte> saved) const override;
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& x_RC,
                       const Tensor& dy, std::span<const Tensor> grads,
                       std::span<std::byte> saved) const override;

 private:
  struct Saved {
    Tensor logits_RV;  // first, where head_logits looks; backward_input puts their gradient in their place
    Tensor norm_RC;
    NormLayer::Saved norm;
  };
  Saved saved(SavedMemory& memory, std::int64_t rows) const;
  Saved saved(std::span<std::byte> memory, const MicroBatch& micro_batch) const;
  void check(std::span<const Tensor> tensors) const;

  UnitSpec unit_;
  std::int64_t hidden_;
  std::int64_t vocabulary_;
  DType dtype_;
  NormLayer norm_;
};

}  // namespace dt::model
