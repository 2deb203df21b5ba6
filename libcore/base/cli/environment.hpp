#pragma once
// The environment variables that dt reads or sets. Man pages print this table, and
// tests/lint/check_environment.sh compares it with the sources.

#include <span>
#include <string_view>

namespace dt {

struct EnvironmentVariable {
  std::string_view name;   // a last * stands for any ending
  std::string_view users;  // tools that use it, "jobs" for the scripts of jobs/
  std::string_view meaning;
};

std::span<const EnvironmentVariable> environment_variables();

}  // namespace dt
