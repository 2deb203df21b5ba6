#pragma once
// A unit of the decoder: embedding, a block, or the head, with its forward and the two halves of its
// backward. Legend: B micro-batch, T sequence, R = B·T rows, C hidden.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "model/seam.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// The grain of arithmetic. Tensors are int32 of R elements, a sequence's behind each other. Where ranks
/// divide sequences (context parallelism), T is the length of this rank's part of each, and its rows are
/// those of the earlier chunk of all sequences, then those of the later one (see Zigzag).
struct MicroBatch {
  std::int64_t batch = 0;     // B
  std::int64_t sequence = 0;  // T
  Tensor tokens_R;
  Tensor labels_R;     // negative: no target
  Tensor positions_R;  // of each token within its sequence
  Tensor first_R;      // the first position of its sequence that each token may see; absent: 0
  std::span<const std::uint64_t> samples_B;  // global sample indices
  std::int64_t step = 0;
  double loss_scale = 1;  // multiplies the gradient of Σ nll: (fp16's scale) / target tokens of the step
  Tensor logits_RV;  // where present, the head's forward also leaves its logits here: this rank's columns
};

/// What a block keeps from its forward for its backward, beside its input.
enum class Kept {
  everything,
  matmuls,  // the outputs of matmuls and attention; norms and activations are computed again
};

/// Stateless but for its spec, so that one unit serves many micro-batches in flight. The caller owns every
/// tensor:
/// - `weights` and `grads` are the unit's parameters in UnitSpec::params order;
/// - `x` is the previous unit's output (absent for the embedding) and must stay unchanged until
/// backward_input, which is the last to read it;
/// - `y` is x_RC for the next unit; the head's y is nll_R in fp64;
/// - `saved` is saved_bytes() of memory for this micro-batch, written by forward and read and written by both
/// backwards: what backward_input is the last to need makes room for what it hands to backward_weight;
/// - `handover` is handover_bytes() of memory for what finds no room there, written by backward_input and
/// read by backward_weight;
/// - `dy` is absent for the head, `dx` for the embedding; dy must stay unchanged until backward_weight; dx
/// may alias x.
/// Where ranks share layers, a unit computes its part of each, and x, y, dx and dy have the rows that are
/// this rank's (see Seam); micro-batches and nll_R have all of them on every rank.
///
/// The head makes its gradients in its forward, while the logits that they need are at hand: kept, the logits
/// would be the largest tensor of all, and made again they would cost a tenth of a step.
class Unit {
 public:
  virtual ~Unit() = default;
  virtual const UnitSpec& spec() const = 0;
  virtual DType output_dtype() const = 0;
  virtual Shape output_shape(std::int64_t batch, std::int64_t sequence) const = 0;
  virtual std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const = 0;
  virtual std::size_t handover_bytes(Device device, std::int64_t batch, std::int64_t sequence) const = 0;
  /// Of the context's scratch memory that the unit's methods take at once on such a device, beside what
  /// kernels pack.
  virtual std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const = 0;
  /// Whether forward takes `grads` and adds to them, and backward_weight has nothing left to do, so that
  /// backward_input is the last to need `saved`.
  virtual bool has_gradients_in_forward() const { return false; }

  /// `grads` is empty but for a unit that has_gradients_in_forward, in training. Without y only what the
  /// backward needs is computed.
  virtual void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x, const Tensor& y, std::span<std::byte> saved,
                       std::span<const Tensor> grads = {}) const = 0;
  /// Overwrites dx.
  virtual void backward_input(const Context& context, const MicroBatch& micro_batch,
                              std::span<const Tensor> weights, const Tensor& x, const Tensor& dy,
                              const Tensor& dx, std::span<std::byte> saved,
                              std::span<std::byte> handover) const = 0;
  /// grads += ; after backward_input of the same micro-batch.
  virtual void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy,
                               std::span<const Tensor> grads, std::span<std::byte> saved,
                               std::span<std::byte> handover) const = 0;
  /// Both, in the order that suits: where ranks share layers, gradients of weights are made while others
  /// travel.
  virtual void backward(const Context& context, const MicroBatch& micro_batch,
                        std::span<const Tensor> weights, const Tensor& x, const Tensor& dy, const Tensor& dx,
                        std::span<const Tensor> grads, std::span<std::byte> saved,
                        std::span<std::byte> handover) const {
    backward_input(context, micro_batch, weights, x, dy, dx, saved, handover);
    backward_weight(context, micro_batch, dy, grads, saved, handover);
  }
};

/// The decoder as units, in order; computing in `dtype` (f32, bf16, f16; or f64 through the reference
/// kernels). Statistics (the norms' and the softmax's) are fp32 beside 16-bit tensors. `seam`, which must
/// outlive them, says which part of each layer is theirs.
std::vector<std::unique_ptr<Unit>> make_units(Device device, const ModelSpec& spec,
                                              const ParameterTable& table, DType dtype,
                                              Kept kept = Kept::everything, const Seam& seam = no_seam());

}  // namespace dt::model
