#pragma once
// Which roles conversations had.

#include <set>
#include <string>
#include <vector>

namespace dt::data {

/// What is the same in whichever order it is put together.
struct RolesMet {
  std::set<std::string> learned;  // of those that are to be
  std::set<std::string> others;   // the first few in byte order: for people

  void add(const std::string& role, bool is_learned);
  RolesMet& operator+=(const RolesMet& other);
};

/// Error{input}, with what was met: no turn was of one of these roles, which were to be learned.
void check_all_met(const std::vector<std::string>& roles, const RolesMet& met);

}  // namespace dt::data
