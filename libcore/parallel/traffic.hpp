#pragma once
// What a list makes ranks move, worked out from the list: the bytes that the recorder counts when it runs.

#include <cstdint>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/local_table.hpp"
#include "parallel/precision.hpp"

namespace dt::parallel {

/// What a list makes ranks move, by purpose.
struct MovedBytes {
  std::int64_t weights = 0;           // gathered
  std::int64_t weight_gradients = 0;  // reduced; of replicas and tensor-parallel ranks, too
  std::int64_t activations = 0;       // sent to other stages, as the rest is
  std::int64_t activation_gradients = 0;
  std::int64_t tied = 0;    // gradients and weights of the tied table
  std::int64_t layers = 0;  // between the ranks that share them

  std::int64_t total() const {
    return weights + weight_gradients + activations + activation_gradients + tied + layers;
  }
};
/// `bytes` are Traffic::bytes_of(list).
MovedBytes by_purpose(const ActionList& list, const std::vector<std::int64_t>& bytes);

/// What ranks exchange while a layer computes that they share, or whose sequences they divide: the size of
/// the whole buffers.
struct LayerBytes {
  std::int64_t summed = 0;     // features of rows: each of the ranks that share the layer has a part
  std::int64_t gathered = 0;   // among the same
  std::int64_t passed_on = 0;  // keys and values, and their gradients, round the ranks that divide sequences

  std::int64_t total() const { return summed + gathered + passed_on; }
};

/// What is summed at the decision point.
struct ControlBytes {
  std::int64_t replicated = 0;  // over replicas: what ZeRO's groups have each summed
  std::int64_t partial = 0;     // over the ranks that share layers: gradients of which each has a part
};

struct Traffic {
  const LocalTable& local;
  Precision precision;
  std::int64_t rows = 0;                // of a micro-batch
  std::int64_t hidden = 0;              // features of each
  std::int64_t key_value_features = 0;  // that go round where ranks divide sequences
  bool trains = true;

  /// Of each action of a training step: the size of the whole buffers that its operations bring together or
  /// sum, once, however many ranks take part. A gather of what is whole already, and ranks that are alone,
  /// move nothing. What goes between stages counts where it is sent: a tied table's is this rank's part.
  /// Where replicas sum their parts, and then tensor-parallel ranks what they have only parts of, they do it
  /// at the decision point. What ranks that share a layer add up or gather counts where the layer computes.
  std::vector<std::int64_t> bytes_of(const ActionList& list) const;
  /// Zero for actions that do not compute.
  LayerBytes layer_bytes(const Action& action) const;
  ControlBytes control_bytes() const;

 private:
  std::int64_t stage_bytes(const Action& send) const;
  std::int64_t ring_bytes(model::UnitKind kind, ActionKind action) const;
};

}  // namespace dt::parallel
