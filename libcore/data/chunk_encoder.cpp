#include "data/chunk_encoder.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "data/json_texts.hpp"
#include "data/utf8.hpp"

namespace dt::data {

namespace {

using nlohmann::json;

/// "FILE:LINE: what".
Error error_at(const Chunk& chunk, std::uint64_t line, const std::string& what, std::string context) {
  line = line_in_file(*chunk.stream, line);
  return Error(ErrorKind::input, fmt::format("{}:{}: {}", chunk.stream->name, line, what),
               std::move(context));
}

void check_utf8(const Chunk& chunk) {
  if (is_valid_utf8(chunk.bytes)) return;
  const auto invalid = find_invalid_utf8(chunk.bytes);
  const auto byte = static_cast<unsigned char>(chunk.bytes[*invalid]);
  const std::uint64_t line = chunk.first_line + line_at(chunk.bytes, *invalid) - 1;
  throw error_at(chunk, line, fmt::format("invalid UTF-8: byte 0x{:02x}", byte),
                 "text is expected: convert it with iconv -t UTF-8, or say what it is (--format, --invalid)");
}

/// The library's message without its own prefix: it counts lines from the start of what it was given.
std::string reason_of(const json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t column = text.find("column ");
  return std::string(column == text.npos ? text.substr(text.find("] ") + 2) : text.substr(column));
}

/// What a line should have been; where it stands.
struct Line {
  const Chunk& chunk;
  std::size_t begin;
  std::size_t end;
  std::uint64_t number;  // in the file

  std::string_view text() const { return std::string_view(chunk.bytes).substr(begin, end - begin); }
  Error error(const std::string& what, const std::string& expected) const {
    return error_at(chunk, number, what, expected);
  }
};

json object_of(const Line& line, const std::string& expected) {
  json document;
  try {
    document = json::parse(line.chunk.bytes.data() + line.begin, line.chunk.bytes.data() + line.end);
  } catch (const json::exception& error) {
    throw line.error("invalid JSON: " + reason_of(error), expected);
  }
  if (!document.is_object()) throw line.error(fmt::format("a JSON {}", document.type_name()), expected);
  return document;
}

std::string text_of(const Line& line, const std::string& text_key) {
  const std::string expected =
      fmt::format("one JSON object a line is expected, with its text under \"{}\"", text_key);
  json document = object_of(line, expected);
  const auto text = document.find(text_key);
  if (text == document.end())
    throw line.error(fmt::format("no key \"{}\"", text_key), expected + " (--text-key)");
  if (!text->is_string()) {
    throw line.error(fmt::format("\"{}\" is a JSON {}", text_key, text->type_name()), "a string is expected");
  }
  return std::move(text->get_ref<std::string&>());
}

bool is_role(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

std::vector<Turn> turns_of(const Line& line) {
  const std::string expected =
      "a conversation a line is expected: {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}, …]}";
  const json document = object_of(line, expected);
  const auto messages = document.find("messages");
  if (messages == document.end() || !messages->is_array()) throw line.error("no \"messages\"", expected);
  std::vector<Turn> turns;
  for (const json& message : *messages) {
    const auto text = [&](const char* key) {
      const bool is_there = message.is_object() && message.contains(key) && message.at(key).is_string();
      if (!is_there) throw line.error(fmt::format("message {} has no {}", turns.size(), key), expected);
      return message.at(key).get<std::string>();
    };
    turns.push_back({text("role"), text("content")});
    if (!is_role(turns.back().role))
      throw line.error(fmt::format("message {} has the role {:?}", turns.size() - 1, turns.back().role),
                       "a name of letters, digits, _ and - is expected");
  }
  return turns;
}

void encode_part(std::string_view text, bool ends_document, TextEncoder& encoder, EncodedChunk& out) {
  const std::size_t first_id = out.ids.size();
  encoder.encode(text, out.ids);
  out.parts.push_back({first_id, out.ids.size(), num_characters(text), ends_document});
}

void encode_conversation(const Line& line, TextEncoder& encoder, const LineOptions& options,
                         EncodedChunk& out) {
  const std::vector<Turn> turns = turns_of(line);
  const std::size_t first_id = out.ids.size();
  encode_turns(turns, *options.turns, encoder, out.ids);
  std::uint64_t chars = 0;
  for (const Turn& turn : turns) {
    chars += num_characters(turn.content);
    if (options.turns->masks_targets()) out.roles.add(turn.role, options.turns->learns(turn.role));
  }
  out.parts.push_back({first_id, out.ids.size(), chars, true});
}

void encode_line(const Line& line, JsonTexts& texts, TextEncoder& encoder, const LineOptions& options,
                 EncodedChunk& out) {
  if (options.turns) return encode_conversation(line, encoder, options, out);
  if (const auto text = texts.find(line.text(), options.text_key))
    return encode_part(*text, true, encoder, out);
  encode_part(text_of(line, options.text_key), true, encoder, out);
}

void encode_lines(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options, EncodedChunk& out) {
  const std::string_view bytes = chunk.bytes;
  JsonTexts texts;
  std::uint64_t number = chunk.first_line;  // counted as it goes: every line may be a bad one
  for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end + 1, ++number) {
    end = std::min(bytes.find('\n', begin), bytes.size());
    if (bytes.substr(begin, end - begin).find_first_not_of(" \t\r") == bytes.npos) continue;
    try {
      encode_line({chunk, begin, end, number}, texts, encoder, options, out);
    } catch (const Error& error) {
      if (!options.skip_bad || error.kind() != ErrorKind::input) throw;
      out.flaws += {0, 1, error.what()};
    }
  }
}

}  // namespace

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
