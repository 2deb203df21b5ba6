#pragma once
// Findings in inputs beside their tokens: skipped issues, documents left out, and roles of
// conversations.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace dt::data {

enum class InvalidUtf8;

/// Issues of inputs that dt skipped because the options allow it.
struct InputIssues {
  std::uint64_t invalid_sequences = 0;  // invalid UTF-8 sequences
  std::uint64_t bad_lines = 0;
  std::string first_bad_line;  // its place and error
  InputIssues& operator+=(const InputIssues& later);
};

/// Returns the issues as lines for people; "" for none. `invalid` says what was done with invalid UTF-8.
std::string describe_input_issues(const InputIssues& issues, InvalidUtf8 invalid);

/// Numbers of documents left out of the dataset, by reason.
struct FilteredDocuments {
  std::uint64_t too_short = 0;
  std::uint64_t too_long = 0;
  std::uint64_t duplicates = 0;
  FilteredDocuments& operator+=(const FilteredDocuments& later);
};

/// A record of the roles that occur in conversations. Merging records gives the same result in any order.
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
