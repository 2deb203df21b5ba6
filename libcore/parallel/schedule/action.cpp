#include "parallel/schedule/action.hpp"

#include <fmt/core.h>
#include <string_view>

namespace dt::parallel {

std::string to_string(const Action& action) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + part; };
  if (action.payload != Payload::none) add(std::string(name_of(action.payload)));
  if (action.unit >= 0) add(fmt::format("unit {}", action.unit));
  if (action.micro_batch >= 0) add(fmt::format("micro-batch {}", action.micro_batch));
  if (action.peer >= 0) add(fmt::format("stage rank {}", action.peer));
  const std::string_view kind = name_of(action.kind);
  return text.empty() ? std::string(kind) : fmt::format("{}({})", kind, text);
}

}  // namespace dt::parallel
