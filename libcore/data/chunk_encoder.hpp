#pragma once
// One chunk of input as token ids: checks UTF-8, takes the text out of JSON lines, tokenizes.

#include <cstdint>
#include <string>
#include <vector>

#include "data/chunk_reader.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Ids [begin, end) of a document, and of how many Unicode characters they are.
struct EncodedPart {
  std::size_t begin;
  std::size_t end;
  std::uint64_t chars;
  bool ends_document;
};

struct EncodedChunk {
  std::vector<std::uint32_t> ids;
  std::vector<EncodedPart> parts;
  std::uint64_t file_bytes = 0;
};

/// Safe to call from several threads at once, each with its own encoder. Errors: input, naming file and line,
/// for invalid UTF-8, and in JSON lines for invalid JSON, a line that is no object, and a `text_key` that is
/// missing or no string. Blank lines are passed over.
EncodedChunk encode_chunk(const Chunk& chunk, TextEncoder& encoder, const std::string& text_key);

}  // namespace dt::data
