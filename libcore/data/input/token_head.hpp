#pragma once
// Headers of files of token ids: NumPy's and llm.c's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/input/byte_source.hpp"
#include "data/input/token_type.hpp"

namespace dt::data {

struct TokenHead {
  TokenType type;
  std::optional<std::uint64_t> num_tokens;  // none: up to the end of the file
};

/// Return whether `first`, the first bytes of a file, begin NumPy's or llm.c's format.
bool is_npy(std::string_view first);
bool is_llmc(std::string_view first);

/// Checks that a file to be recognized by content is not a file of ids, or of an index, without a
/// stated type. `first` holds its first 512 bytes; `plain_name` is the name without the suffix of a
/// compression.
/// Errors: input, with the option to give, if it looks like one and not like text.
void check_is_text(std::string_view first, const std::string& name, const std::string& plain_name);

/// Reads NumPy's header (versions 1 to 3) off the front.
/// Errors: input, naming the defect, if it does not describe one row of integers.
TokenHead read_npy_head(ByteSource& bytes, const std::string& name);

/// Reads llm.c's header (256 int32: magic, version, number of tokens) off the front.
/// Errors: input if it is truncated.
TokenHead read_llmc_head(ByteSource& bytes, const std::string& name);

}  // namespace dt::data
