#pragma once
// Files of token ids from other programs: their number formats and headers (NumPy, llm.c), and a reader of
// their blocks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/enum_names.hpp"
#include "data/input/byte_source.hpp"

namespace dt::data {

class MegatronIndex;

/// Storage of a token id, little-endian.
enum class TokenType { u8, i8, i16, u16, i32, u32, i64 };
constexpr auto enum_names(TokenType) {
  using enum TokenType;
  return std::to_array<EnumName<TokenType>>(
      {{"u8", u8}, {"i8", i8}, {"i16", i16}, {"u16", u16}, {"i32", i32}, {"u32", u32}, {"i64", i64}});
}
/// The types that --token-type takes, of ids without a header.
constexpr auto raw_token_types = subset<TokenType::u16, TokenType::u32>(enum_names(TokenType{}));

std::size_t token_bytes(TokenType type);
/// Returns the type for NumPy's name ("<u2").
std::optional<TokenType> token_type_of_numpy(const std::string& name);
/// Returns the type for Megatron's code.
std::optional<TokenType> token_type_of_megatron(std::uint8_t code);

/// The contents of a file's header.
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

/// A range of a chunk that belongs to one document. The document ends with it or continues in the
/// next range.
struct DocumentRange {
  std::size_t begin;
  std::size_t end;
  bool ends_document;
};

struct TokenBlock {
  std::string bytes;                 // whole ids
  std::vector<DocumentRange> parts;  // ranges of the bytes; none if documents end at EOS
  std::uint64_t first_token = 0;
  bool is_last = false;
};

/// Reads the ids of a stream block by block.
class TokenReader {
 public:
  /// `bytes` are positioned after the header. `index` says where documents end; without one, EOS
  /// ids do. Both must outlive the reader.
  TokenReader(ByteSource& bytes, std::string name, TokenHead head, MegatronIndex* index = nullptr);
  /// Returns the next block. Call it until a block is the last.
  /// Errors: input if there are more or fewer ids than header or index say.
  TokenBlock next();

 private:
  void check_count(bool is_last) const;
  std::vector<DocumentRange> parts_of(std::size_t num_bytes, bool is_last);
  bool next_document();

  ByteSource& bytes_;
  std::string name_;
  TokenHead head_;
  MegatronIndex* index_;
  std::uint64_t num_read_ = 0;
  std::uint64_t document_left_ = 0;  // tokens left of the present document
};

}  // namespace dt::data
