#pragma once
// Roles that occur in conversations.

#include <set>
#include <string>
#include <vector>

namespace dt::data {

/// A record of roles. Merging records gives the same result in any order.
struct SeenRoles {
  std::set<std::string> learned;  // roles that occur among those to be learned
  std::set<std::string> others;   // first few other roles in byte order, for messages

  void add(const std::string& role, bool is_learned);
  SeenRoles& operator+=(const SeenRoles& other);
};

/// Checks that each of the roles to be learned occurs.
/// Errors: input, with the roles that occur, if one does not.
void check_all_met(const std::vector<std::string>& roles, const SeenRoles& met);

}  // namespace dt::data
