#pragma once
// Maps tokens to features.
// Legend: R rows, L this rank's rows (see TensorParallelOps), C hidden.

#include "kernels/embedding.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "model/units/unit.hpp"

namespace dt::model {

/// The embedding of tokens and of learned positions. Saves nothing.
/// Parameters: the token table, whose rows the tensor-parallel ranks divide, and the position table
/// if the model learns its positions.
class EmbeddingUnit final : public Unit {
 public:
  EmbeddingUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const TensorParallelOps& ops);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return dtype_; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  std::size_t saved_bytes(std::int64_t, std::int64_t) const override { return 0; }
  std::size_t backward_handoff_bytes(Device, std::int64_t, std::int64_t) const override { return 0; }
  /// Returns the bytes of all rows if ranks divide rows, else 0.
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x, const Tensor& y_LC, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override;
  /// Does nothing: tokens have no gradient.
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x, const Tensor& dy_LC, const Tensor& dx, std::span<std::byte> saved,
                      std::span<std::byte> backward_handoff) const override;
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> backward_handoff) const override;

 private:
  UnitSpec unit_;
  std::int64_t hidden_;
  bool learned_positions_;
  kernels::DimShard rows_;  // this rank's rows of the token table
  DType dtype_;
  const TensorParallelOps& ops_;
};

}  // namespace dt::model
