#include "data/build/chunk_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <simdjson.h>
#include <string_view>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "data/input/json_line.hpp"
#include "tokenizer/encode/regex_watch.hpp"

namespace dt::data {

namespace {

/// Extracts texts from lines of JSON, fast.
/// Thread safety: one thread at a time.
class JsonTexts {
 public:
  JsonTexts() {
    constexpr std::size_t to_begin_with = 1024;
    if (parser_.allocate(to_begin_with, max_line_depth) != simdjson::SUCCESS) throw std::bad_alloc();
  }

  /// Returns the string of the object's last member of this name, valid until the next call.
  /// Returns none if the line has no such member, and sometimes even if it has. The caller then
  /// uses the slower reader (json_line.hpp), which decides.
  std::optional<std::string_view> find(std::string_view line, std::string_view key) {
    simdjson::dom::object object;
    if (parser_.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return std::nullopt;
    std::optional<std::string_view> text;
    for (const auto& [name, value] : object) {
      if (name != key) continue;
      text.emplace();
      if (value.get(*text) != simdjson::SUCCESS) text.reset();
    }
    return text;
  }

 private:
  simdjson::dom::parser parser_;
};

/// Returns "FILE:LINE".
std::string place_of(const Chunk& chunk, std::uint64_t line) {
  return fmt::format("{}:{}", chunk.stream->name, line_in_file(*chunk.stream, line));
}

/// Returns the error "FILE:LINE: what".
Error error_at(const Chunk& chunk, std::uint64_t line, const std::string& what, std::string context) {
  return Error(ErrorKind::input, fmt::format("{}: {}", place_of(chunk, line), what), std::move(context));
}

/// Every byte of input comes here. simdjson finds out some 20 times as fast as find_invalid_utf8()
/// whether text beyond ASCII is valid, but not where it is not.
void check_utf8(const Chunk& chunk) {
  if (simdjson::validate_utf8(chunk.bytes.data(), chunk.bytes.size())) return;
  const auto invalid = find_invalid_utf8(chunk.bytes);
  const auto byte = static_cast<unsigned char>(chunk.bytes[*invalid]);
  const std::uint64_t line = chunk.first_line + line_at(chunk.bytes, *invalid) - 1;
  throw error_at(chunk, line, fmt::format("invalid UTF-8: byte 0x{:02x}", byte),
                 "expected UTF-8 text: convert it with iconv -t UTF-8, name its format (--format), or use "
                 "--invalid replace or skip");
}

/// A line of a chunk.
struct Line {
  const Chunk& chunk;
  std::size_t begin;
  std::size_t end;
  std::uint64_t number;  // line number in the file

  std::string_view text() const { return std::string_view(chunk.bytes).substr(begin, end - begin); }
  Error error(const std::string& what, const std::string& expected) const {
    return error_at(chunk, number, what, expected);
  }
};

/// Returns the result of `read` for the line's text. A bad line becomes an error that names the
/// line.
template <class Read>
auto read_line(const Line& line, Read read) {
  try {
    return read(line.text());
  } catch (const BadLine& bad) {
    throw line.error(bad.what, bad.expected);
  }
}

/// Runs `encode`, which appends to the ids of `out`. If the tokenizer cannot encode a text, the
/// error names the line where the text begins, and nothing is appended.
template <class LineOf, class Encode>
void encode_at(const Chunk& chunk, LineOf line, EncodedChunk& out, Encode encode) {
  const std::size_t first_id = out.ids.size();
  const tokenizer::SearchedText named([&] { return place_of(chunk, line()); });
  try {
    encode();
  } catch (const Error& error) {
    out.ids.resize(first_id);
    if (error.kind() != ErrorKind::input) throw;
    throw error_at(chunk, line(), error.what(), error.context());
  }
}

template <class LineOf>
void encode_part(const Chunk& chunk, LineOf line, std::string_view text, bool ends_document,
                 TextEncoder& encoder, EncodedChunk& out) {
  const std::size_t first_id = out.ids.size();
  encode_at(chunk, line, out, [&] { encoder.encode(text, out.ids); });
  out.parts.push_back({first_id, out.ids.size(), num_characters(text), ends_document});
}

void encode_conversation(const Line& line, TurnEncoder& encoder, const LineOptions& options,
                         EncodedChunk& out) {
  const std::vector<Turn> turns = read_line(line, turns_of_line);
  const std::size_t first_id = out.ids.size();
  encode_at(
      line.chunk, [&] { return line.number; }, out, [&] { encoder.append(turns, out.ids); });
  std::uint64_t chars = 0;
  for (const Turn& turn : turns) {
    chars += num_characters(turn.content);
    if (options.turns->masks_targets()) out.roles.add(turn.role, options.turns->learns(turn.role));
  }
  out.parts.push_back({first_id, out.ids.size(), chars, true});
}

void encode_text_line(const Line& line, JsonTexts& texts, TextEncoder& encoder, const LineOptions& options,
                      EncodedChunk& out) {
  const auto number = [&] { return line.number; };
  if (const auto text = texts.find(line.text(), options.text_key))
    return encode_part(line.chunk, number, *text, true, encoder, out);
  const auto read = [&](std::string_view text) { return text_of_line(text, options.text_key); };
  encode_part(line.chunk, number, read_line(line, read), true, encoder, out);
}

void encode_lines(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options, EncodedChunk& out) {
  const std::string_view bytes = chunk.bytes;
  JsonTexts texts;
  std::optional<TurnEncoder> turns;
  if (options.turns) turns.emplace(*options.turns, encoder);
  std::uint64_t number = chunk.first_line;  // counted here, since any line may be a bad one
  for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end + 1, ++number) {
    end = std::min(bytes.find('\n', begin), bytes.size());
    if (bytes.substr(begin, end - begin).find_first_not_of(" \t\r") == bytes.npos) continue;
    try {
      const Line line{chunk, begin, end, number};
      if (turns) {
        encode_conversation(line, *turns, options, out);
      } else {
        encode_text_line(line, texts, encoder, options, out);
      }
    } catch (const Error& error) {
      if (!options.skip_bad || error.kind() != ErrorKind::input) throw;
      out.issues += {0, 1, error.what()};
    }
  }
}

[[noreturn]] void throw_outside(const Chunk& chunk, std::size_t index, std::int64_t id, std::uint32_t size) {
  throw Error(ErrorKind::input,
              fmt::format("{}: token id {} at position {} is outside the tokenizer's vocabulary of {} tokens",
                          chunk.stream->name, id, chunk.first_token + index, size),
              "check that --tokenizer made these ids and that --token-type is right");
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
  throw Error(ErrorKind::input,
              fmt::format("{} seems to hold ids wider than {} bits: almost every second number is zero",
                          chunk.stream->name, bits),
              bits == 16
                  ? "use --token-type u32; convert 64-bit ids to 32 bits first (NumPy: astype(\"<u4\"))"
                  : "convert the ids to 32 bits first (NumPy: astype(\"<u4\"))");
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

EncodedChunk encode_chunk(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options) {
  check_utf8(chunk);
  EncodedChunk out;
  out.file_bytes = chunk.file_bytes;
  out.issues.invalid_sequences = chunk.invalid_sequences;
  out.ids.reserve(chunk.bytes.size());
  if (chunk.stream->is_jsonl) {
    encode_lines(chunk, encoder, options, out);
    return out;
  }
  for (const DocumentRange& part : chunk.parts) {
    const auto text = std::string_view(chunk.bytes).substr(part.begin, part.end - part.begin);
    const auto line = [&] { return chunk.first_line + line_at(chunk.bytes, part.begin) - 1; };
    encode_part(chunk, line, text, part.ends_document, encoder, out);
  }
  return out;
}

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
    throw Error(
        ErrorKind::input,
        fmt::format("{}: the tokenizer does not define which token ends a document", chunk.stream->name),
        "the end-of-document token splits ids into documents: name it with --eos-token");
  }
  out.parts = split_at(*tokenizer.eos, out.ids, chunk.ends_stream);
  return out;
}

}  // namespace dt::data
