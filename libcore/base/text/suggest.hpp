#pragma once
// Suggestions for names that do not exist.

#include <span>
#include <string>
#include <string_view>

namespace dt {

/// Returns the candidate that `name` probably means, or "". It may differ in case, '-' and '_'
/// only. It may be a synonym in other tools (gpu for cuda), be abbreviated by `name`, or lie at a
/// small edit distance.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// Returns "did you mean 'cuda'? ", which precedes what was expected, or "" if no candidate is
/// near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// Returns whether two names differ only in case, '-' and '_'.
bool is_same_name(std::string_view a, std::string_view b);

}  // namespace dt
