#pragma once
// Options for reading inputs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/input/input_notes.hpp"
#include "data/input/inputs.hpp"
#include "data/input/token_type.hpp"

namespace dt::data {

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
