#pragma once
// Counts in sentences.

#include <string>
#include <string_view>

#include "base/text.hpp"

namespace dt {

/// "1 file", "12,000 files"
template <class Count>
std::string counted(Count count, std::string_view singular) {
  std::string text = format_count(static_cast<std::uint64_t>(count)).append(" ").append(singular);
  return count == 1 ? text : text + "s";
}

/// "is" for 1, "are" for others; likewise any two words.
template <class Count>
constexpr std::string_view for_count(Count count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace dt
