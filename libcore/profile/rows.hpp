#pragma once
// A step as a picture: rows of what took time.

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

/// Spans in the order of their starts, none of which begins before the one before has ended.
struct Row {
  std::string name;
  std::vector<Span> spans;
};

/// The step; what the host computes, or enqueues for a device, and then what the device computes; what the
/// host waits for; what ranks do together, a group a row. What goes on at once has further rows, "data 2".
std::vector<Row> rows_of(const StepProfile& profile);

}  // namespace dt::profile
