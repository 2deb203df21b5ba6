#include "data/chunk_encoder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "data/utf8.hpp"

namespace dt::data {

namespace {

using nlohmann::json;

/// "FILE:LINE: what", for the line of a byte of the chunk.
Error error_at(const Chunk& chunk, std::size_t offset, const std::string& what, std::string context) {
  const std::uint64_t line = chunk.first_line + line_at(chunk.bytes, offset) - 1;
  return Error(ErrorKind::input, fmt::format("{}:{}: {}", chunk.stream->name, line, what),
               std::move(context));
}

void check_utf8(const Chunk& chunk) {
  const auto invalid = find_invalid_utf8(chunk.bytes);
  if (!invalid) return;
  const auto byte = static_cast<unsigned char>(chunk.bytes[*invalid]);
  throw error_at(chunk, *invalid, fmt::format("invalid UTF-8: byte 0x{:02x}", byte),
                 "text is expected: convert it with iconv -t UTF-8, or say what it is (--format, --invalid)");
}

/// The library's message without its own prefix: it counts lines from the start of what it was given.
std::string reason_of(const json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t column = text.find("column ");
  return std::string(column == text.npos ? text.substr(text.find("] ") + 2) : text.substr(column));
}

std::string text_of_line(const Chunk& chunk, std::size_t begin, std::size_t end,
                         const std::string& text_key) {
  const std::string expected =
      fmt::format("one JSON object a line is expected, with its text under \"{}\"", text_key);
  json document;
  try {
    document = json::parse(chunk.bytes.data() + begin, chunk.bytes.data() + end);
  } catch (const json::exception& error) {
    throw error_at(chunk, begin, "invalid JSON: " + reason_of(error), expected);
  }
  if (!document.is_object())
    throw error_at(chunk, begin, fmt::format("a JSON {}", document.type_name()), expected);
  const auto text = document.find(text_key);
  if (text == document.end())
    throw error_at(chunk, begin, fmt::format("no key \"{}\"", text_key), expected + " (--text-key)");
  if (!text->is_string()) {
    throw error_at(chunk, begin, fmt::format("\"{}\" is a JSON {}", text_key, text->type_name()),
                   "a string is expected");
  }
  return std::move(text->get_ref<std::string&>());
}

void encode_part(std::string_view text, bool ends_document, TextEncoder& encoder, EncodedChunk& out) {
  const std::size_t first_id = out.ids.size();
  encoder.encode(text, out.ids);
  out.parts.push_back({first_id, out.ids.size(), num_characters(text), ends_document});
}

/// Nothing where the line is bad, and that is to be counted in `flaws`.
std::optional<std::string> text_unless_bad(const Chunk& chunk, std::size_t begin, std::size_t end,
                                           const LineOptions& options, Flaws& flaws) {
  try {
    return text_of_line(chunk, begin, end, options.text_key);
  } catch (const Error& error) {
    if (!options.skip_bad) throw;
    flaws += {0, 1, error.what()};
    return std::nullopt;
  }
}

void encode_lines(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options, EncodedChunk& out) {
  const std::string_view bytes = chunk.bytes;
  for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end + 1) {
    end = std::min(bytes.find('\n', begin), bytes.size());
    if (bytes.substr(begin, end - begin).find_first_not_of(" \t\r") == bytes.npos) continue;
    const auto text = text_unless_bad(chunk, begin, end, options, out.flaws);
    if (text) encode_part(*text, true, encoder, out);
  }
}

}  // namespace

Flaws& Flaws::operator+=(const Flaws& later) {
  invalid_sequences += later.invalid_sequences;
  bad_lines += later.bad_lines;
  if (first_bad_line.empty()) first_bad_line = later.first_bad_line;
  return *this;
}

EncodedChunk encode_chunk(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options) {
  check_utf8(chunk);
  EncodedChunk out;
  out.file_bytes = chunk.file_bytes;
  out.flaws.invalid_sequences = chunk.invalid_sequences;
  out.ids.reserve(chunk.bytes.size());
  if (chunk.stream->is_jsonl) {
    encode_lines(chunk, encoder, options, out);
    return out;
  }
  for (const Part& part : chunk.parts) {
    const auto text = std::string_view(chunk.bytes).substr(part.begin, part.end - part.begin);
    encode_part(text, part.ends_document, encoder, out);
  }
  return out;
}

}  // namespace dt::data
