#pragma once
// Options for reading inputs, and the notes that the user gets while they are read.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "data/input/inputs.hpp"
#include "data/input/token_file.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Notes for the user about inputs. Gives each kind of note once, when it first applies. The readers of one
/// command share an object.
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

/// Options for reading inputs.
struct InputOptions {
  InputFormat format = InputFormat::automatic;
  InvalidUtf8 invalid = InvalidUtf8::fail;
  std::string text_key = "text";  // key of lines that are recognized as JSON by content
  std::uint64_t decompress_memory = std::uint64_t{4} << 30;  // limit per compressed file
  /// Limit on the size of one input after decompression and unpacking. decompress_memory limits a
  /// decompressor's window, this its output.
  std::optional<std::uint64_t> max_output_bytes = {};
  bool takes_tokens = true;                // false makes token ids an error, since their tokenizer is unknown
  std::optional<TokenType> raw_type = {};  // type of ids without a header, which require it
  std::shared_ptr<InputNotices> notes = {};  // nullptr: notes are dropped
};

}  // namespace dt::data
