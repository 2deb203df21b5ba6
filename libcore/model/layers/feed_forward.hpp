#pragma once
// The feed-forward half of a block: what a layer is (FeedForwardKind), and the layer itself
// (FeedForward). Parameter table, FLOPs, estimates, layouts and blocks ask these, so that a kind is an
// implementation of both and a name in a model's config.json.
// Legend: R rows, L this rank's rows where tensors are not split by features (see TensorParallelOps), C
// hidden.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/layers/auxiliary_loss.hpp"
#include "model/layers/bump_allocator.hpp"
#include "model/layers/micro_batch.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// A layer of one rank. It is stateless, so that it serves many micro-batches in flight.
class FeedForward {
 public:
  /// The tensors that a micro-batch leaves between forward and backward, in the layer's own order.
  using Saved = std::vector<Tensor>;

  virtual ~FeedForward() = default;
  virtual std::size_t num_params() const = 0;
  /// Lays out the saved tensors. The tensors that recompute() makes from the others come from
  /// `recomputed`.
  virtual Saved saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t rows) const = 0;
  /// Adds to `saved`, for the backward, what backward_input leaves for the halves of backward_weight
  /// and does not write over saved tensors.
  virtual void add_backward_handoff(Device /*device*/, BumpAllocator& /*backward_handoff*/,
                                    std::int64_t /*rows*/, Saved& /*saved*/) const {}
  /// Returns the bytes of scratch memory that a method takes at once, without gathered rows and rows
  /// that are not yet summed.
  virtual std::size_t scratch_bytes(Device device, std::int64_t rows) const = 0;

  /// Computes y = residual + the layer's output. If y is absent, computes only `saved`, by the same
  /// products, since on a GPU a product of other rows may have other bits. A layer with auxiliary
  /// losses writes their terms to micro_batch.auxiliary_AR if that is present.
  virtual void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x_LC, const Tensor& residual_LC, const Tensor& y_LC,
                       const Saved& saved) const = 0;
  /// Computes the saved tensors that come from `recomputed`.
  virtual void recompute(const Context& context, std::span<const Tensor> weights,
                         const Saved& saved) const = 0;
  /// Overwrites dx with the gradient of the output and of the auxiliary losses. Calls
  /// `overlapped_work` while the ranks' parts of dx are being summed.
  virtual void backward_input(const Context& context, const MicroBatch& micro_batch,
                              std::span<const Tensor> weights, AsyncAllGather& dy_RC, const Tensor& dx_LC,
                              const Saved& saved, const OverlappedWork& overlapped_work) const = 0;
  /// The two halves of backward_weight: parameters whose gradients need dy, and those whose gradients
  /// need x. Call both after backward_input. They add to `grads`.
  virtual void backward_output_weight(const Context& context, std::span<const Tensor> grads,
                                      const Tensor& dy_RC, const Saved& saved) const = 0;
  virtual void backward_input_weight(const Context& context, std::span<const Tensor> grads,
                                     const Tensor& x_RC, const Saved& saved) const = 0;
};

/// A step of a layer's forward, for counts and estimates: a product with a matrix
/// [outputs, inputs], or a function of a row's features.
struct FeedForwardStep {
  enum class Kind { product, elementwise } kind;
  std::string name;
  std::int64_t inputs, outputs;  // features of a row
  bool has_bias = false;         // a product adds one
};

/// The kind of a model's layers. `spec` is the model, or its shard on a rank (see shard_spec). Kinds are
/// constants: specs compare their addresses.
class FeedForwardKind {
 public:
  /// Returns the parameters in the order in which the layer takes them, with names that follow
  /// "layers.3.".
  virtual std::vector<ParamSpec> parameters(const ModelSpec& spec) const = 0;
  /// Returns the steps of a forward in order. The first and the last are products.
  virtual std::vector<FeedForwardStep> steps(const ModelSpec& spec) const = 0;
  /// Returns the most tensor-parallel ranks that may share a layer.
  virtual std::int64_t max_shards(const ModelSpec& spec) const = 0;
  virtual std::vector<AuxiliaryLoss> auxiliary_losses(const ModelSpec& /*spec*/) const { return {}; }
  /// Returns the layer of a rank. `ops` must outlive it.
  virtual std::unique_ptr<FeedForward> make(const ModelSpec& shard, DType dtype,
                                            const TensorParallelOps& ops) const = 0;

 protected:
  ~FeedForwardKind() = default;
};

/// Returns the most tensor-parallel ranks that the feed-forward layers of a model allow.
std::int64_t max_feed_forward_shards(const ModelSpec& spec);

}  // namespace dt::model
