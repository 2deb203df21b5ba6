#pragma once
// Stores what a rank holds of a model in training: weights and their masters, gradients, optimizer
// states, each whole or in part as the sharding says.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/gradient_store.hpp"
#include "parallel/state/groups.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/precision.hpp"
#include "parallel/state/state_layout.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/host_tensor.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// The weights of one rank, with which units compute. If they are divided, each rank holds a shard of every
/// group, and a unit's weights are whole from its gather to its release. Groups are local ones, units have
/// their global numbers.
/// Errors: internal, this rank does not hold the unit.
class WeightStore {
 public:
  /// Table and groups must outlive the store.
  WeightStore(Device device, const LocalTable& local, DType dtype, const Groups& ranks);

  /// Returns this rank's shard of a group's flat buffer, which the optimizer writes.
  Tensor shard(int group) const;
  /// Records that shards have new values. Wholes are out of date until the next gather; none may be in
  /// use.
  void mark_updated();

  /// Starts the all-gather of a unit's weights, unless they are whole already.
  /// Collective: all ranks gather the same units in the same order.
  void gather(int unit);
  /// Waits for every started gather, also for those that no unit waited for.
  void finish_gathers(const Context& context);
  /// Ends the unit's use of gathered weights. Weights that are not divided stay.
  void release(const Context& context, int unit);
  /// Returns the unit's weights, in UnitSpec::params order; waits until they are whole.
  /// Errors: internal, they were not gathered.
  const std::vector<Tensor>& unit_weights(const Context& context, int unit);

  /// Return the bytes of the shards, and the most that whole weights take in addition at one time.
  std::size_t bytes() const;
  BufferPool& pool() { return pool_; }
  std::size_t peak_gathered_bytes() const { return pool_.peak_bytes(); }

 private:
  struct Group {
    Buffer shard;  // set if weights are divided
    Buffer full;   // set if they are not, or while a unit uses it
    int num_users = 0;
    bool is_gathered = true;
    std::optional<comm::Work> gathering{};
  };
  Tensor full(int group) const;
  bool is_sharded(int group) const { return local_.group(group).sharding.shards_weights(); }
  void start_gather(int group);
  static void finish_gather(const Context& context, Group& group);
  void find_views(int unit);

  const LocalTable& local_;
  DType dtype_;
  const Groups& ranks_;
  std::vector<Group> groups_;
  std::vector<std::vector<Tensor>> unit_weights_;
  BufferPool pool_;  // pool of wholes
};

/// Bytes by purpose, summed over groups.
struct StorageBytes {
  std::size_t weights = 0;
  std::size_t gradients = 0;
  std::size_t optimizer = 0;   // its state, and masters if they are separate from the weights
  std::size_t checkpoint = 0;  // part of these that a checkpoint holds
  std::size_t gathered = 0;    // in addition: for current units, and for values that travel
  std::size_t total() const { return weights + gradients + optimizer + gathered; }
};

/// The storage of one rank. Groups and parameters are the local table's. "This rank's shard" of a
/// group is its whole flat buffer if nothing is divided.
class ModelStorage {
 public:
  /// Without a lane plan there are weights alone, for evaluation. Otherwise the optimizer has a state
  /// of each kind, in the kind's dtype. Arguments by reference must outlive the storage.
  /// Errors: internal, the ranks do not divide as the table says.
  ModelStorage(Device device, const LocalTable& local, Precision precision, const LanePlan* plan,
               const Groups& ranks, std::vector<StateKind> state_kinds);

  const LocalTable& local() const { return local_; }
  const Precision& precision() const { return precision_; }
  const Groups& ranks() const { return ranks_; }
  /// Returns the kinds of the optimizer's state.
  const std::vector<StateKind>& state_kinds() const { return state_kinds_; }
  /// Returns the index of a kind of state, if the storage has it.
  std::optional<std::size_t> find_kind(std::string_view name) const;
  /// Returns the type of the elements of the kind with this index.
  DType state_dtype(std::size_t kind) const { return state_kinds_[kind].dtype_beside(precision_.master()); }
  /// Returns the places of the kind with this index.
  const StateLayout& state_layout(std::size_t kind) const { return layouts_[kind]; }
  int num_groups() const { return static_cast<int>(states_.size()); }
  WeightStore& weights() { return weights_; }
  /// Only for a storage for training.
  GradientStore& gradients() { return *gradients_; }

  /// Sets the values of the piece of a parameter that this rank holds. `fill` writes them, in the
  /// master's dtype, on the host (see fill_from_host). It is not called if the rank holds nothing.
  /// Weights in 16 bits are rounded from them.
  void set_weights(const Context& context, const LocalParam& param, const FillPiece& fill);

  /// Return this rank's shard of a group's flat buffers. The gradient must be complete. Without
  /// separate masters, the weights serve as masters. Masters and the optimizer's states, one of each
  /// kind, are absent if another stage holds the group's state. States lie as state_layout() says.
  Tensor group_weights(int group) const { return weights_.shard(group); }
  Tensor group_masters(int group) const;
  Tensor group_gradient(int group) const { return gradients_->shard(group); }
  std::vector<Tensor> group_states(int group) const;
  /// Returns a parameter's state of a kind that covers the parameter: the elements of state_piece(), flat.
  Tensor param_state(const LocalParam& param, std::size_t kind) const;

  /// Returns what a storage of this kind holds, without allocating it.
  static StorageBytes estimate(const LocalTable& local, Precision precision, const LanePlan* plan,
                               std::span<const StateKind> state_kinds);
  /// Returns what this storage holds.
  StorageBytes bytes() const;

 private:
  /// The optimizer's state of one group.
  struct State {
    Buffer masters;              // empty if weights are their own
    std::vector<Buffer> states;  // by kind
  };
  static Tensor state(const Buffer& buffer, DType dtype, std::int64_t numel);

  const LocalTable& local_;
  Precision precision_;
  const Groups& ranks_;
  std::vector<StateKind> state_kinds_;
  std::vector<StateLayout> layouts_;  // by kind
  WeightStore weights_;
  std::unique_ptr<GradientStore> gradients_;
  std::vector<State> states_;
};

}  // namespace dt::parallel
