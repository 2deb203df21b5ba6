#pragma once
// Text that steps of a tokenizer make of other text, within bounds: a few steps that each make many
// characters of one would make gigabytes of a line.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// What text of so many bytes may become, in bytes. The steps of real tokenizers make much less of it:
/// Unicode's compatibility forms, which make the most, 11 times as much.
constexpr std::size_t max_grown_bytes(std::size_t bytes) {
  return 64 * bytes + 1024;
}

class BoundedText {
 public:
  explicit BoundedText(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::string_view view() const { return text_; }
  void clear() { text_.clear(); }
  /// Errors: input, where the text would be longer than it may.
  BoundedText& append(std::string_view more) {
    if (text_.size() + more.size() > max_bytes_) fail();
    text_.append(more);
    return *this;
  }
  void swap(BoundedText& other) { text_.swap(other.text_); }

  std::size_t max_bytes() const { return max_bytes_; }
  void set_max_bytes(std::size_t max_bytes) { max_bytes_ = max_bytes; }
  /// Several texts share a bound: what comes next may be so much shorter.
  void spend(std::size_t bytes) { max_bytes_ -= std::min(max_bytes_, bytes); }

 private:
  [[noreturn]] void fail() const;
  std::string text_;
  std::size_t max_bytes_;
};

}  // namespace dt::tokenizer
