#include "parallel/action.hpp"

#include <array>
#include <fmt/core.h>

namespace dt::parallel {

std::string to_string(const Action& action) {
  static constexpr std::array names{"forward", "backward_input", "backward_weight", "discard", "recompute",
                                    "gather",  "free",           "reduce",          "control", "step"};
  const char* name = names[static_cast<std::size_t>(action.kind)];
  if (action.micro_batch >= 0)
    return fmt::format("{}(unit {}, micro-batch {})", name, action.unit, action.micro_batch);
  if (action.unit >= 0) return fmt::format("{}(unit {})", name, action.unit);
  return name;
}

}  // namespace dt::parallel
