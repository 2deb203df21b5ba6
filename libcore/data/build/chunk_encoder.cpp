#include "data/build/chunk_encoder.hpp"

#include <algorithm>
#include <optional>
#include <simdjson.h>
#include <string_view>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "data/input/json_line.hpp"
#include "data/input/json_texts.hpp"
#include "tokenizer/encode/regex_watch.hpp"

namespace dt::data {

namespace {

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
                 "text is expected: convert it with iconv -t UTF-8, or say what it is (--format, --invalid)");
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

}  // namespace dt::data
