#pragma once
// What a user should know of inputs while they are read.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "data/tokenizer.hpp"

namespace dt::data {

/// Tells each kind of thing where it is met first. Shared by the readers of one command.
/// Thread safety: any thread may call it.
class InputNotes {
 public:
  explicit InputNotes(std::function<void(const std::string& text)> tell);

  /// A file that no name says to be JSON lines is read as such.
  void json_lines(const std::string& name, const std::string& text_key);

  /// A file is about to take much memory, and more than those before it.
  void decompress_memory(const std::string& name, const std::string& codec, std::uint64_t bytes);

  /// A regular expression that no code of dt's own stands for splits text, or changes it before that.
  void slow_regex(const Tokenizer& tokenizer);

 private:
  std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  bool has_told_lines_ = false;
  bool has_told_regex_ = false;
  std::uint64_t memory_told_ = 0;
};

}  // namespace dt::data
