#pragma once
// Numbers with the right grammatical form.

#include <string>
#include <string_view>

#include "base/text/text.hpp"

namespace dt {

/// Returns a count with its noun, such as "1 file" or "12,000 files".
template <class Count>
std::string pluralize(Count count, std::string_view singular) {
  std::string text = format_count(static_cast<std::uint64_t>(count)).append(" ").append(singular);
  return count == 1 ? text : text + "s";
}

/// Returns `one` for 1 and `many` for all other counts, such as "is" and "are".
template <class Count>
constexpr std::string_view plural_form(Count count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace dt
