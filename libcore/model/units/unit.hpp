#pragma once
// A unit of the decoder: the embedding, a block or the head. A unit has a forward and the two
// halves of its backward.
// Legend: B micro-batch, T sequence, R = B·T rows, C hidden.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/layers/auxiliary_loss.hpp"
#include "model/layers/micro_batch.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// The tensors that a block saves from forward for the backward, in addition to its input.
enum class SavedActivations {
  all,
  matmuls,  // outputs of matmuls and attention; norms and activations are recomputed
};

/// A unit is stateless except for its spec, so that one unit serves many micro-batches in flight.
/// The caller owns every tensor:
/// - `weights` and `grads` are the unit's parameters in UnitSpec::params order.
/// - `x` is the previous unit's output (absent for the embedding). It must stay unchanged until
///   backward_input, which is its last reader.
/// - `y` is x_RC for the next unit; the head's y is nll_R in fp64.
/// - `saved` is saved_bytes() of memory for this micro-batch. forward writes it; both backwards read
///   and write it. Tensors whose last reader is backward_input make room for what backward_weight
///   needs.
/// - `backward_handoff` is backward_handoff_bytes() of memory for what does not fit there.
///   backward_input writes it, and backward_weight reads it.
/// - `dy` is absent for the head, `dx` for the embedding. dy must stay unchanged until
///   backward_weight. dx may alias x.
/// A unit of tensor-parallel ranks computes its shard of each layer. x, y, dx and dy then have this
/// rank's rows (see TensorParallelOps). Micro-batches and nll_R have all rows on every rank.
///
/// The head makes its gradients in its forward, while the logits exist. Saved, the logits would be
/// the largest tensor of all; recomputed, they would cost a tenth of a step.
class Unit {
 public:
  virtual ~Unit() = default;
  virtual const UnitSpec& spec() const = 0;
  virtual DType output_dtype() const = 0;
  virtual Shape output_shape(std::int64_t batch, std::int64_t sequence) const = 0;
  virtual std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const = 0;
  virtual std::size_t backward_handoff_bytes(Device device, std::int64_t batch,
                                             std::int64_t sequence) const = 0;
  /// Returns the bytes of the context's scratch memory that the unit's methods take at once on this
  /// device, and of MicroBatch::auxiliary_AR. The memory into which kernels pack is not included.
  virtual std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const = 0;
  /// Returns whether forward takes `grads` and adds to them. backward_weight then does nothing, so
  /// that backward_input is the last to read `saved`.
  virtual bool has_gradients_in_forward() const { return false; }
  /// Returns the losses whose terms forward writes to MicroBatch::auxiliary_AR, in the order of its
  /// rows. Both backwards add their gradients whether forward wrote them or not.
  virtual std::vector<AuxiliaryLoss> auxiliary_losses() const { return {}; }

  /// `grads` is empty except in training with has_gradients_in_forward(). If y is absent, computes
  /// only what the backward needs.
  virtual void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x, const Tensor& y, std::span<std::byte> saved,
                       std::span<const Tensor> grads = {}) const = 0;
  /// Overwrites dx.
  virtual void backward_input(const Context& context, const MicroBatch& micro_batch,
                              std::span<const Tensor> weights, const Tensor& x, const Tensor& dy,
                              const Tensor& dx, std::span<std::byte> saved,
                              std::span<std::byte> backward_handoff) const = 0;
  /// Adds to grads. Call it after backward_input of the same micro-batch.
  virtual void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy,
                               std::span<const Tensor> grads, std::span<std::byte> saved,
                               std::span<std::byte> backward_handoff) const = 0;
  /// Does both halves in the faster order. If ranks share layers, it computes gradients of weights
  /// during exchanges.
  virtual void backward(const Context& context, const MicroBatch& micro_batch,
                        std::span<const Tensor> weights, const Tensor& x, const Tensor& dy, const Tensor& dx,
                        std::span<const Tensor> grads, std::span<std::byte> saved,
                        std::span<std::byte> backward_handoff) const {
    backward_input(context, micro_batch, weights, x, dy, dx, saved, backward_handoff);
    backward_weight(context, micro_batch, dy, grads, saved, backward_handoff);
  }
};

/// Returns the units of the decoder in order. They compute in `dtype` (f32, bf16, f16; or f64
/// through the reference kernels). `ops` says which shard of each layer is this rank's, and must
/// outlive the units. `z_loss` is the coefficient of the head's z-loss in training; 0: none.
/// Numerics: the statistics of norms and softmax are fp32 if tensors are 16-bit.
std::vector<std::unique_ptr<Unit>> make_units(Device device, const ModelSpec& spec,
                                              const ParameterTable& table, DType dtype,
                                              SavedActivations saved_activations = SavedActivations::all,
                                              const TensorParallelOps& ops = single_rank_ops(),
                                              double z_loss = 0);

/// Returns the auxiliary losses of a model's units, each name once, in the order of units.
/// Errors: internal for two coefficients of one name.
std::vector<AuxiliaryLoss> auxiliary_losses(std::span<const std::unique_ptr<Unit>> units);

}  // namespace dt::model
