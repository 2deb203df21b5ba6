#pragma once
// What stands before the ids in files of token ids: NumPy's header, llm.c's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/input/byte_source.hpp"
#include "data/input/token_type.hpp"

namespace dt::data {

struct TokenHead {
  TokenType type;
  std::optional<std::uint64_t> num_tokens;  // nothing: to the file's end
};

/// Whether `first`, the first bytes of a file, begin NumPy's format; llm.c's.
bool is_npy(std::string_view first);
bool is_llmc(std::string_view first);

/// Errors: input, with what to give, where a file that is to be known by its content is no text but looks
/// like ids, or like an index, whose type nothing in it says. `first` are its first 512 bytes, `plain_name`
/// is the name without the suffix of a compression.
void check_is_text(std::string_view first, const std::string& name, const std::string& plain_name);

/// Reads the header of NumPy's format (versions 1 to 3) off the front. Errors: input, naming what is not one
/// row of whole numbers.
TokenHead read_npy_head(ByteSource& bytes, const std::string& name);

/// Reads llm.c's header (256 int32: magic, version, number of tokens) off the front. Errors: input, where it
/// is cut off.
TokenHead read_llmc_head(ByteSource& bytes, const std::string& name);

}  // namespace dt::data
