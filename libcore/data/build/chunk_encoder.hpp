#pragma once
// Encodes one chunk of input: text, JSON lines, or token ids from other programs.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/build/input_findings.hpp"
#include "data/input/chunk_reader.hpp"
#include "data/input/conversation.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

struct LineOptions {
  std::string text_key = "text";
  bool skip_bad = false;                 // skips lines that are not an object with a text
  std::optional<TurnFormat> turns = {};  // lines are conversations: their "messages" in this format
};

/// Number of characters of content that is not text.
inline constexpr std::uint64_t no_chars = std::numeric_limits<std::uint64_t>::max();

/// Ids [begin, end) of a document, and the number of Unicode characters that they encode.
struct EncodedDocumentRange {
  std::size_t begin;
  std::size_t end;
  std::uint64_t chars;  // or no_chars
  bool ends_document;
};

struct EncodedChunk {
  std::vector<std::uint32_t> ids;
  std::vector<EncodedDocumentRange> parts;
  std::uint64_t file_bytes = 0;
  InputIssues issues;
  SeenRoles roles;  // roles in conversations, if the format masks
};

/// Encodes a chunk of text or JSON lines: checks UTF-8, extracts the text of lines, tokenizes. Skips
/// blank lines.
/// Errors: input, naming file and line, for invalid UTF-8 and for bad JSON lines (see
/// json_line.hpp), unless `options` skip those.
/// Thread safety: several threads may call it at once, each with its own encoder.
EncodedChunk encode_chunk(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options);

/// Returns the documents of a chunk of token ids from other programs. They are the chunk's parts or, if it
/// has none, the ids between EOS ids. An EOS that ends a document is left out, as if its text had been
/// encoded.
/// Errors: input, naming the file and the id's position, for an id that the tokenizer lacks.
EncodedChunk encode_tokens(const Chunk& chunk, const TokenizerIdentity& tokenizer);

}  // namespace dt::data
