#include "data/build/input_issues.hpp"

namespace dt::data {

InputIssues& InputIssues::operator+=(const InputIssues& later) {
  invalid_sequences += later.invalid_sequences;
  bad_lines += later.bad_lines;
  if (first_bad_line.empty()) first_bad_line = later.first_bad_line;
  return *this;
}

FilteredDocuments& FilteredDocuments::operator+=(const FilteredDocuments& later) {
  too_short += later.too_short;
  too_long += later.too_long;
  duplicates += later.duplicates;
  return *this;
}

}  // namespace dt::data
