#pragma once
// The code points of every class that a regular expression can name (\p{…}, POSIX brackets), by Unicode
// 16.

#include <cstddef>
#include <cstdint>

namespace dt::tokenizer {

/// Sets as half-open ranges of code points, without surrogates. Each boundary is written as its
/// distance from the one before, in digits of 5 bits, the lowest first. A digit is one of 0-9A-Za-z+/;
/// its sixth bit says that another digit follows.
extern const char* const property_sets[];

struct PropertyName {
  const char* name;   // lower case, without spaces, - and _
  std::size_t index;  // index in property_sets
};
/// All names that regular expressions can use, sorted.
extern const PropertyName property_names[];
extern const std::size_t num_property_names;

/// Characters that match each other under (?i), by simple case folding. Every `step`th character from
/// `first` to `last` matches the character that is `shift` beyond it. Of three or more that match, each
/// is listed with the next.
struct CaseShift {
  char32_t first, last;
  std::uint32_t step, shift;
};
extern const CaseShift case_shifts[];
extern const std::size_t num_case_shifts;

}  // namespace dt::tokenizer
