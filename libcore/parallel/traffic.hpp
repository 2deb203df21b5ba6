#pragma once
// What a list makes ranks move, worked out from the list: the bytes that the recorder counts when it runs.

#include <cstdint>
#include <vector>

#include "model/parameter_table.hpp"
#include "parallel/action.hpp"
#include "parallel/precision.hpp"
#include "parallel/sharding.hpp"

namespace dt::parallel {

/// How the data-parallel ranks stand to each other, without their communicators.
struct Traffic {
  const model::ParameterTable& table;
  Precision precision;
  Division division;
  int replicas = 1;  // ranks that hold the same part

  /// Of each action of a training step: the size of the whole buffers that its operations bring together or
  /// sum, once, however many ranks take part. A gather of what is whole already, and ranks that are alone,
  /// move nothing. Where replicas sum their parts, they do it at the decision point.
  std::vector<std::int64_t> bytes_of(const ActionList& list) const;
};

}  // namespace dt::parallel
