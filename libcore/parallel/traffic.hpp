#pragma once
// What a list makes ranks move, worked out from the list: the bytes that the recorder counts when it runs.

#include <cstdint>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/local_table.hpp"
#include "parallel/precision.hpp"

namespace dt::parallel {

struct Traffic {
  const LocalTable& local;
  Precision precision;

  /// Of each action of a training step: the size of the whole buffers that its operations bring together or
  /// sum, once, however many ranks take part. A gather of what is whole already, and ranks that are alone,
  /// move nothing. Where replicas sum their parts, they do it at the decision point.
  std::vector<std::int64_t> bytes_of(const ActionList& list) const;
};

}  // namespace dt::parallel
