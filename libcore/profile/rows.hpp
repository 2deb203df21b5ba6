#pragma once
// Draws a step as rows of what took time.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profile/step_profile.hpp"

namespace dt::profile {

struct Span {
  std::string name;
  std::string kind;
  Interval time;
  std::vector<std::pair<std::string, std::int64_t>> details{};
};

/// Spans in the order of their starts. No span begins before the end of the one before.
struct Row {
  std::string name;
  std::vector<Span> spans;
};

/// Returns the rows of a step: the step itself; what the host computes, or enqueues for a device; what
/// the device computes; what the host waits for; and for each group a row of what its ranks do
/// together. Spans that overlap have further rows, "data 2".
std::vector<Row> rows_of(const StepProfile& profile);

}  // namespace dt::profile
