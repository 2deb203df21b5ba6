#include "data/build/token_encoder.hpp"

#include <cstring>
#include <optional>

#include "base/error.hpp"

namespace dt::data {

namespace {

[[noreturn]] void throw_outside(const Chunk& chunk, std::size_t index, std::int64_t id, std::uint32_t size) {
  throw Error(ErrorKind::input,
              fmt::format("{}: token {}, number {}, is outside the tokenizer's {} tokens", chunk.stream->name,
                          id, chunk.first_token + index, size),
              "was it another tokenizer, or are tokens of another type (--token-type)?");
}

/// Returns whether the numbers look like halves of larger ids. If 32-bit ids are read as 16-bit,
/// every second number is zero or the few high bits of an id. The same holds for 64-bit ids read as
/// 32-bit.
bool are_halves(const std::vector<std::uint32_t>& numbers, std::uint64_t vocabulary_size, unsigned bits) {
  constexpr std::size_t few = 8;
  if (numbers.size() < few || numbers.size() % 2 != 0) return false;
  const std::uint64_t max_high = (vocabulary_size - 1) >> bits;
  std::uint32_t low = 0;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i + 1] > max_high) return false;
    low |= numbers[i];
  }
  return low > max_high;
}

void check_width(const Chunk& chunk, const std::vector<std::uint32_t>& ids, std::uint32_t vocabulary_size) {
  if (!chunk.stream->is_raw || chunk.first_token > 0) return;
  const auto bits = static_cast<unsigned>(8 * token_bytes(*chunk.stream->tokens));
  if (!are_halves(ids, vocabulary_size, bits)) return;
  throw Error(
      ErrorKind::input,
      fmt::format("{} holds wider ids than {} bits: its numbers have next to nothing but zeros in every "
                  "second place",
                  chunk.stream->name, bits),
      bits == 16 ? "give --token-type u32; ids of 64 bits become such by numpy's astype(\"<u4\")"
                 : "make ids of 32 bits of it by numpy's astype(\"<u4\")");
}

template <class Number>
std::vector<std::uint32_t> ids_of(const Chunk& chunk, std::uint32_t vocabulary_size) {
  std::vector<std::uint32_t> ids(chunk.bytes.size() / sizeof(Number));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Number number;
    std::memcpy(&number, chunk.bytes.data() + i * sizeof(Number), sizeof(Number));
    const auto id = static_cast<std::int64_t>(number);
    if (id < 0 || id >= vocabulary_size) throw_outside(chunk, i, id, vocabulary_size);
    ids[i] = static_cast<std::uint32_t>(id);
  }
  return ids;
}

std::vector<std::uint32_t> ids_of(const Chunk& chunk, std::uint32_t vocabulary_size) {
  switch (*chunk.stream->tokens) {
    case TokenType::u8:
      return ids_of<std::uint8_t>(chunk, vocabulary_size);
    case TokenType::i8:
      return ids_of<std::int8_t>(chunk, vocabulary_size);
    case TokenType::i16:
      return ids_of<std::int16_t>(chunk, vocabulary_size);
    case TokenType::u16:
      return ids_of<std::uint16_t>(chunk, vocabulary_size);
    case TokenType::i32:
      return ids_of<std::int32_t>(chunk, vocabulary_size);
    case TokenType::u32:
      return ids_of<std::uint32_t>(chunk, vocabulary_size);
    case TokenType::i64:
      break;
  }
  return ids_of<std::int64_t>(chunk, vocabulary_size);
}

std::vector<EncodedDocumentRange> split_at(std::uint32_t eos, const std::vector<std::uint32_t>& ids,
                                           bool ends_stream) {
  std::vector<EncodedDocumentRange> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != eos) continue;
    parts.push_back({begin, i, no_chars, true});
    begin = i + 1;
  }
  parts.push_back({begin, ids.size(), no_chars, ends_stream});
  return parts;
}

/// Returns the chunk's own parts, in ids, without the EOS that may end a document.
std::vector<EncodedDocumentRange> parts_of(const Chunk& chunk, const std::vector<std::uint32_t>& ids,
                                           std::optional<std::uint32_t> eos) {
  const std::size_t bytes = token_bytes(*chunk.stream->tokens);
  std::vector<EncodedDocumentRange> parts;
  for (const DocumentRange& of_bytes : chunk.parts) {
    EncodedDocumentRange part = {of_bytes.begin / bytes, of_bytes.end / bytes, no_chars,
                                 of_bytes.ends_document};
    if (part.ends_document && part.end > part.begin && ids[part.end - 1] == eos) --part.end;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

EncodedChunk encode_tokens(const Chunk& chunk, const TokenizerIdentity& tokenizer) {
  EncodedChunk out;
  out.file_bytes = chunk.file_bytes;
  out.ids = ids_of(chunk, tokenizer.vocabulary_size);
  check_width(chunk, out.ids, tokenizer.vocabulary_size);
  if (chunk.stream->has_documents) {
    out.parts = parts_of(chunk, out.ids, tokenizer.eos);
    return out;
  }
  if (!tokenizer.eos) {
    throw Error(ErrorKind::input,
                fmt::format("{}: the tokenizer does not say which token ends a document", chunk.stream->name),
                "ids are divided into documents by it: name it with --eos-token");
  }
  out.parts = split_at(*tokenizer.eos, out.ids, chunk.ends_stream);
  return out;
}

}  // namespace dt::data
