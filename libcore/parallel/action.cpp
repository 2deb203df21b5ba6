#include "parallel/action.hpp"

#include <array>
#include <fmt/core.h>

namespace dt::parallel {

const char* action_name(ActionKind kind) {
  static constexpr std::array names{"forward", "backward_input", "backward_weight", "discard", "recompute",
                                    "gather",  "free",           "reduce",          "control", "step"};
  return names[static_cast<std::size_t>(kind)];
}

std::string to_string(const Action& action) {
  const char* name = action_name(action.kind);
  if (action.micro_batch >= 0)
    return fmt::format("{}(unit {}, micro-batch {})", name, action.unit, action.micro_batch);
  if (action.unit >= 0) return fmt::format("{}(unit {})", name, action.unit);
  return name;
}

}  // namespace dt::parallel
