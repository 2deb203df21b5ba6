#pragma once
// Parts of inputs that are absent from the result.

#include <cstdint>
#include <string>

namespace dt::data {

/// Issues of inputs that dt skipped because the options allow it.
struct InputIssues {
  std::uint64_t invalid_sequences = 0;  // invalid UTF-8 sequences
  std::uint64_t bad_lines = 0;
  std::string first_bad_line;  // its place and error
  InputIssues& operator+=(const InputIssues& later);
};

/// Numbers of documents left out of the dataset, by reason.
struct FilteredDocuments {
  std::uint64_t too_short = 0;
  std::uint64_t too_long = 0;
  std::uint64_t duplicates = 0;
  FilteredDocuments& operator+=(const FilteredDocuments& later);
};

}  // namespace dt::data
