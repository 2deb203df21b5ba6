#pragma once
// Parts of inputs that are absent from the result.

#include <cstdint>
#include <string>

namespace dt::data {

/// Flaws of inputs that dt skipped because the options allow it.
struct Flaws {
  std::uint64_t invalid_sequences = 0;  // invalid UTF-8 sequences
  std::uint64_t bad_lines = 0;
  std::string first_bad_line;  // its place and error
  Flaws& operator+=(const Flaws& later);
};

/// Numbers of documents left out of the dataset, by reason.
struct LeftOut {
  std::uint64_t too_short = 0;
  std::uint64_t too_long = 0;
  std::uint64_t duplicates = 0;
  LeftOut& operator+=(const LeftOut& later);
};

}  // namespace dt::data
