#pragma once
// One chunk of input as token ids: checks UTF-8, takes the text out of JSON lines, tokenizes.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/chunk_reader.hpp"
#include "data/conversation.hpp"
#include "data/flaws.hpp"
#include "data/roles.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

struct LineOptions {
  std::string text_key = "text";
  bool skip_bad = false;                 // lines that are no object with a text
  std::optional<TurnFormat> turns = {};  // lines are conversations: their "messages" in this format
};

/// Of what is no text.
inline constexpr std::uint64_t no_chars = std::numeric_limits<std::uint64_t>::max();

/// Ids [begin, end) of a document, and of how many Unicode characters they are.
struct EncodedPart {
  std::size_t begin;
  std::size_t end;
  std::uint64_t chars;  // or no_chars
  bool ends_document;
};

struct EncodedChunk {
  std::vector<std::uint32_t> ids;
  std::vector<EncodedPart> parts;
  std::uint64_t file_bytes = 0;
  Flaws flaws;
  RolesMet roles;  // of conversations, where the format masks
};

/// Safe to call from several threads at once, each with its own encoder. Errors: input, naming file and line,
/// for invalid UTF-8, and for JSON lines that are bad ones (see json_line.hpp; not where these are skipped).
/// Blank lines are passed over.
EncodedChunk encode_chunk(const Chunk& chunk, TextEncoder& encoder, const LineOptions& options);

}  // namespace dt::data
