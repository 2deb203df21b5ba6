#pragma once
// What inputs had that is not in what was made of them.

#include <cstdint>
#include <string>

namespace dt::data {

/// What was wrong with inputs and was asked to be passed over.
struct Flaws {
  std::uint64_t invalid_sequences = 0;  // of UTF-8
  std::uint64_t bad_lines = 0;
  std::string first_bad_line;  // where, and what
  Flaws& operator+=(const Flaws& later);
};

/// Documents that are not in the dataset, by why.
struct LeftOut {
  std::uint64_t too_short = 0;
  std::uint64_t too_long = 0;
  std::uint64_t duplicates = 0;
  LeftOut& operator+=(const LeftOut& later);
};

}  // namespace dt::data
