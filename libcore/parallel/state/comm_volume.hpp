#pragma once
// Computes the bytes that a list makes ranks move. The recorder counts the same bytes when the list
// runs.

#include <cstdint>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/precision.hpp"

namespace dt::parallel {

/// Bytes that a list makes ranks move, by purpose.
struct CommBytes {
  std::int64_t weights = 0;           // gathered; also exchanged by an update that spans ranks
  std::int64_t weight_gradients = 0;  // reduced, also over replicas and tensor-parallel ranks
  std::int64_t activations = 0;       // sent to other stages, as the rest is
  std::int64_t activation_gradients = 0;
  std::int64_t tied = 0;    // gradients and weights of the tied table
  std::int64_t layers = 0;  // between tensor-parallel and context-parallel ranks

  std::int64_t total() const {
    return weights + weight_gradients + activations + activation_gradients + tied + layers;
  }
};
/// Sums bytes by purpose. `bytes` are CommVolume::bytes_of(list).
CommBytes sum_by_purpose(const ActionList& list, const std::vector<std::int64_t>& bytes);

/// Bytes that tensor-parallel and context-parallel ranks exchange while a layer computes: the size of
/// the whole buffers.
struct LayerBytes {
  std::int64_t summed = 0;    // features and statistics of rows, of which each rank has a partial sum
  std::int64_t gathered = 0;  // gathered by tensor-parallel ranks
  std::int64_t ring_shifted =
      0;  // keys, values and their gradients, around the ring of context-parallel ranks

  std::int64_t total() const { return summed + gathered + ring_shifted; }
};

/// Bytes that are summed at the decision point.
struct ControlBytes {
  std::int64_t replicated = 0;  // over replicas: what each of ZeRO's groups has summed
  std::int64_t partial = 0;     // over tensor-parallel ranks: gradients of which each has a partial sum
};

/// Exchanges of tensor-parallel ranks in a block, by what its form decides.
struct BlockExchanges {
  int recomputed_sums = 1;   // sums of layers' outputs when a block is computed again
  int gradient_gathers = 2;  // gathers of the gradients of layers' outputs
  int input_gathers = 2;     // gathers of layers' inputs for gradients of weights
  int row_statistics = 0;    // statistics of each row that ranks sum in a forward, and in a backward
};
BlockExchanges block_exchanges(const model::ModelSpec& spec);

struct CommVolume {
  const LocalTable& local;
  Precision precision;
  std::int64_t rows = 0;                // rows of a micro-batch
  std::int64_t hidden = 0;              // features of each row
  std::int64_t key_value_features = 0;  // features that go around context-parallel ranks
  std::int64_t update_bytes = 0;        // exchanged by an update that spans ranks
  bool trains = true;
  BlockExchanges block{};

  /// Returns the bytes of each action of a training step. An operation counts the size of the whole
  /// buffer that it gathers or sums, once, however many ranks take part. A gather of weights that
  /// are whole already moves nothing, and neither does a single rank. Transfers between stages
  /// count at the send; a tied table's are this rank's shard. Sums of shards over replicas, and then
  /// over tensor-parallel ranks that have only partial sums, count at the decision point. Sums and gathers
  /// of tensor-parallel ranks within a layer count where the layer computes.
  std::vector<std::int64_t> bytes_of(const ActionList& list) const;
  /// Returns the bytes of a computation, and zero for other actions.
  LayerBytes layer_bytes(const Action& action) const;
  ControlBytes control_bytes() const;

 private:
  std::int64_t stage_bytes(const Action& send) const;
  std::int64_t ring_bytes(model::UnitKind kind, ActionKind action) const;
};

}  // namespace dt::parallel
