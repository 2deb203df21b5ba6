#pragma once
// What somebody probably meant who wrote a name that does not exist.

#include <span>
#include <string>
#include <string_view>

namespace dt {

/// Returns the candidate that `name` probably means: one that differs in case, '-' and '_' alone, one that
/// other tools call so (gpu for cuda), one that `name` abbreviates, or the one at a small edit distance; ""
/// without any.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// Returns "did you mean 'cuda'? ", to be put before what was expected; "" where nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// Whether two names differ in case, '-' and '_' alone.
bool is_same_name(std::string_view a, std::string_view b);

}  // namespace dt
