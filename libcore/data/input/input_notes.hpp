#pragma once
// Notes for the user about inputs, given while they are read.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "data/tokenizer.hpp"

namespace dt::data {

/// Gives each kind of note once, when it first applies. The readers of one command share an object.
/// Thread safety: any thread may call it.
class InputNotices {
 public:
  explicit InputNotices(std::function<void(const std::string& text)> tell);

  /// Notes that a file is read as JSON lines though its name does not say so.
  void json_lines(const std::string& name, const std::string& text_key);

  /// Notes that a file is about to need much memory, and more than any file before.
  void decompress_memory(const std::string& name, const std::string& codec, std::uint64_t bytes);

  /// Notes that Oniguruma runs a regular expression to split text, or to change it before that.
  /// dt's own code would be much faster.
  void slow_regex(const Tokenizer& tokenizer);

 private:
  std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  bool has_told_lines_ = false;
  bool has_told_regex_ = false;
  std::uint64_t memory_told_ = 0;
};

}  // namespace dt::data
