#pragma once
// Text that is not quite UTF-8, made so as it streams by.

#include <cstdint>
#include <string>

#include "data/inputs.hpp"

namespace dt::data {

/// Replaces invalid sequences by U+FFFD, or leaves them out. A sequence is as long as Unicode recommends (The
/// Unicode Standard, 3.9, "U+FFFD Substitution of Maximal Subparts"): the bytes that begin a character up to
/// the first that cannot go on, or one byte that begins none.
class Utf8Mender {
 public:
  explicit Utf8Mender(InvalidUtf8 invalid) : invalid_(invalid) {}
  /// The text up to the last whole character of `bytes`, or to their end where they end the text; the rest
  /// comes with the next call. InvalidUtf8::fail changes nothing.
  std::string mend(std::string bytes, bool ends_text);
  /// Sequences mended since the last call.
  std::uint64_t take_count();

 private:
  InvalidUtf8 invalid_;
  std::string rest_;
  std::uint64_t count_ = 0;
};

}  // namespace dt::data
