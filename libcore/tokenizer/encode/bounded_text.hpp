#pragma once
// Text whose length is bounded, for the steps of a tokenizer.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Returns the most bytes that a text of `bytes` bytes may become. Steps of real tokenizers need much
/// less: Unicode's compatibility forms, which need the most, make 11 times as much.
constexpr std::size_t max_grown_bytes(std::size_t bytes) {
  return 64 * bytes + 1024;
}

/// Text that a tokenizer's steps make of other text, with a bound on its length. Without the bound, a few
/// steps that each make many characters of one could turn a line into gigabytes.
class BoundedText {
 public:
  explicit BoundedText(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::string_view view() const { return text_; }
  void clear() { text_.clear(); }
  /// Errors: input if the text would exceed the bound.
  BoundedText& append(std::string_view more) {
    if (text_.size() + more.size() > max_bytes_) fail();
    text_.append(more);
    return *this;
  }
  void swap(BoundedText& other) { text_.swap(other.text_); }

  std::size_t max_bytes() const { return max_bytes_; }
  void set_max_bytes(std::size_t max_bytes) { max_bytes_ = max_bytes; }
  /// Lowers the bound by `bytes`, for several texts that share one bound.
  void count_bytes(std::size_t bytes) { max_bytes_ -= std::min(max_bytes_, bytes); }

 private:
  [[noreturn]] void fail() const;
  std::string text_;
  std::size_t max_bytes_;
};

}  // namespace dt::tokenizer
