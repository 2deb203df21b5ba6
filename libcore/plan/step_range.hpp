#pragma once
// Steps that a user names.

#include <cstdint>
#include <string>

namespace dt::plan {

/// Both included, counted from the run's beginning.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool has(std::int64_t step) const { return step >= first && step <= last; }
};

/// "10" or "10-12". Error{usage}: anything else, naming the option, which is called `option`.
StepRange parse_step_range(const std::string& option, const std::string& text);

}  // namespace dt::plan
