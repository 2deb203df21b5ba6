#pragma once
// How inputs are to be read.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/input/token_type.hpp"
#include "data/input_notes.hpp"
#include "data/inputs.hpp"

namespace dt::data {

struct InputOptions {
  InputFormat format = InputFormat::automatic;
  InvalidUtf8 invalid = InvalidUtf8::fail;
  std::string text_key = "text";  // of the lines that are told by content to be JSON
  std::uint64_t decompress_memory = std::uint64_t{4} << 30;  // that a compressed file may take
  /// That one input may become in all, decompressed and unpacked. decompress_memory bounds a decompressor's
  /// window, this what comes out of it.
  std::optional<std::uint64_t> max_output_bytes = {};
  bool takes_tokens = true;                // false: they are an error, since nobody said what they mean
  std::optional<TokenType> raw_type = {};  // of ids without a header; they need it
  std::shared_ptr<InputNotes> notes = {};  // nullptr: nobody listens
};

}  // namespace dt::data
