#include "data/build/input_findings.hpp"

#include <fmt/format.h>
#include <iterator>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "data/input/inputs.hpp"

namespace dt::data {

namespace {

constexpr std::size_t max_others = 16;

void bound(std::set<std::string>& others) {
  while (others.size() > max_others) others.erase(std::prev(others.end()));
}

}  // namespace

InputIssues& InputIssues::operator+=(const InputIssues& later) {
  invalid_sequences += later.invalid_sequences;
  bad_lines += later.bad_lines;
  if (first_bad_line.empty()) first_bad_line = later.first_bad_line;
  return *this;
}

std::string describe_input_issues(const InputIssues& issues, InvalidUtf8 invalid) {
  std::string text;
  if (issues.invalid_sequences > 0) {
    text += fmt::format("{} of bytes that {} not valid UTF-8 {}\n",
                        pluralize(issues.invalid_sequences, "sequence"),
                        plural_form(issues.invalid_sequences, "is", "are"),
                        invalid == InvalidUtf8::skip ? "skipped" : "replaced");
  }
  if (issues.bad_lines > 0) {
    text += fmt::format("{} skipped; the first: {}\n", pluralize(issues.bad_lines, "bad line"),
                        printable_line(issues.first_bad_line));
  }
  return text;
}

FilteredDocuments& FilteredDocuments::operator+=(const FilteredDocuments& later) {
  too_short += later.too_short;
  too_long += later.too_long;
  duplicates += later.duplicates;
  return *this;
}

void SeenRoles::add(const std::string& role, bool is_learned) {
  (is_learned ? learned : others).insert(role);
  bound(others);
}

SeenRoles& SeenRoles::operator+=(const SeenRoles& other) {
  learned.insert(other.learned.begin(), other.learned.end());
  others.insert(other.others.begin(), other.others.end());
  bound(others);
  return *this;
}

void check_all_met(const std::vector<std::string>& roles, const SeenRoles& met) {
  std::vector<std::string> missing;
  for (const std::string& role : roles) {
    if (!met.learned.contains(role)) missing.push_back(role);
  }
  if (missing.empty()) return;
  std::set<std::string> all = met.others;
  all.insert(met.learned.begin(), met.learned.end());
  throw Error(ErrorKind::input,
              fmt::format("--loss-on {}: no conversation has a turn with {}", fmt::join(missing, ","),
                          missing.size() == 1 ? "that role" : "any of these roles"),
              fmt::format("the conversations have these roles: {}{}", fmt::join(all, ", "),
                          met.others.size() < max_others ? "" : ", …"));
}

}  // namespace dt::data
