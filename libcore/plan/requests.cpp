#include "plan/requests.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/text/text.hpp"

namespace dt::plan {

namespace {

/// Returns an empty range if the text is no step, or several ranges.
StepRange range_of(const std::vector<std::string>& bounds) {
  if (bounds.empty() || bounds.size() > 2) return {};
  try {
    return {parse_count(bounds.front()), parse_count(bounds.back())};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

StepRange parse_step_range(const std::string& option, const std::string& text) {
  const StepRange range = range_of(split(text, '-'));
  if (range.first >= 1 && range.last >= range.first) return range;
  throw Error(ErrorKind::usage, fmt::format("{} '{}' is not a range of steps", option, text),
              "expected a step, such as 10, or the first and the last step, such as 10-12");
}

}  // namespace dt::plan
