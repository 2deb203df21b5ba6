#pragma once
// Holds the weights that units compute with. If they are divided, each rank holds a shard of every
// group, and a unit's weights are whole from its gather to its release.

#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "parallel/state/groups.hpp"
#include "parallel/state/local_table.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// The weights of one rank. Groups are local ones, units have their global numbers.
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

}  // namespace dt::parallel
