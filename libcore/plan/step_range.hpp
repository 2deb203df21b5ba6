#pragma once
// Parses the steps that a user names.

#include <cstdint>
#include <string>

namespace dt::plan {

/// A range of steps, both ends included, counted from the run's beginning.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool contains(std::int64_t step) const { return step >= first && step <= last; }
};

/// Parses "10" or "10-12". `option` is the name of the option.
/// Errors: usage, naming the option: any other text.
StepRange parse_step_range(const std::string& option, const std::string& text);

}  // namespace dt::plan
