#pragma once
// Repairs invalid UTF-8 in a stream of text.

#include <cstdint>
#include <string>

#include "data/input/inputs.hpp"

namespace dt::data {

/// Replaces invalid sequences by U+FFFD, or removes them. A sequence is as long as Unicode
/// recommends: the bytes that begin a character up to the first that cannot continue it, or one
/// byte that begins none.
/// Source: The Unicode Standard, 3.9, "U+FFFD Substitution of Maximal Subparts".
class Utf8Mender {
 public:
  explicit Utf8Mender(InvalidUtf8 invalid) : invalid_(invalid) {}
  /// Returns the mended text up to the last whole character of `bytes`, or up to their end if they
  /// end the text. The rest comes with the next call. InvalidUtf8::fail changes nothing.
  std::string mend(std::string bytes, bool ends_text);
  /// Returns the number of sequences mended since the last call.
  std::uint64_t take_count();

 private:
  InvalidUtf8 invalid_;
  std::string rest_;
  std::uint64_t count_ = 0;
};

}  // namespace dt::data
