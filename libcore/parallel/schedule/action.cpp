#include "parallel/schedule/action.hpp"

#include <array>
#include <fmt/core.h>

namespace dt::parallel {

const char* action_name(ActionKind kind) {
  static constexpr std::array names{
      "forward", "backward_input", "backward_weight", "discard", "recompute", "gather", "free",
      "reduce",  "send",           "receive",         "control", "step"};
  return names[static_cast<std::size_t>(kind)];
}

const char* payload_name(Payload payload) {
  static constexpr std::array names{"none", "activation", "gradient", "tied_gradient", "tied_weights"};
  return names[static_cast<std::size_t>(payload)];
}

std::string to_string(const Action& action) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + part; };
  if (action.payload != Payload::none) add(payload_name(action.payload));
  if (action.unit >= 0) add(fmt::format("unit {}", action.unit));
  if (action.micro_batch >= 0) add(fmt::format("micro-batch {}", action.micro_batch));
  if (action.peer >= 0) add(fmt::format("stage rank {}", action.peer));
  return text.empty() ? action_name(action.kind) : fmt::format("{}({})", action_name(action.kind), text);
}

}  // namespace dt::parallel
