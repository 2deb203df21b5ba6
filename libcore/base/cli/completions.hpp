#pragma once
// Completions for shells, made from a tool's option table.

#include <string>

#include "base/cli/options.hpp"

namespace dt {

/// Returns a script that completes the tool's command line in bash.
std::string bash_completion(const OptionTable& table);

/// Returns a function that completes the tool's command line in zsh.
std::string zsh_completion(const OptionTable& table);

}  // namespace dt
