#pragma once
// The weights that units compute with. Where they are divided, each rank holds a part of every group, and a
// unit's weights are whole from its gather to its release.

#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/buffer_pool.hpp"
#include "parallel/groups.hpp"
#include "parallel/local_table.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Groups are local ones, units have their global numbers. Error{internal}: a unit that this rank does not
/// hold.
class WeightStore {
 public:
  /// Both must outlive it.
  WeightStore(Device device, const LocalTable& local, DType dtype, const Groups& ranks);

  /// This rank's part of a group's flat buffer: what the optimizer writes.
  Tensor part(int group) const;
  /// Parts have new values. Wholes are out of date until the next gather; none may be in use.
  void changed();

  /// Starts to bring together what a unit computes with, unless it is whole already. All ranks gather the
  /// same units in the same order.
  void gather(int unit);
  /// Waits for every gather that was started, also those that nobody waited for.
  void finish_gathers(const Context& context);
  /// The unit is done with what was gathered. Weights that are not divided stay.
  void release(const Context& context, int unit);
  /// In UnitSpec::params order; waits until they are whole. Error{internal} where they were not gathered.
  const std::vector<Tensor>& of_unit(const Context& context, int unit);

  /// Of the parts, and of wholes beside them (the most at one time).
  std::size_t bytes() const;
  BufferPool& pool() { return pool_; }
  std::size_t most_gathered_bytes() const { return pool_.most_in_use_bytes(); }

 private:
  struct Group {
    Buffer part;   // where weights are divided
    Buffer whole;  // else; or while somebody uses it
    int users = 0;
    bool is_whole = true;
    std::optional<comm::Work> gathering{};
  };
  Tensor whole(int group) const;
  bool is_divided(int group) const { return local_.group(group).division.divides_weights(); }
  void start_gather(int group);
  static void finish_gather(const Context& context, Group& group);
  void find_views(int unit);

  const LocalTable& local_;
  DType dtype_;
  const Groups& ranks_;
  std::vector<Group> groups_;
  std::vector<std::vector<Tensor>> unit_weights_;
  BufferPool pool_;  // of wholes
};

}  // namespace dt::parallel
