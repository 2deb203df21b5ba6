// A file cut into ranges, each read by itself. The first bytes say what the file is and how small ranges
// and chunks are. Together the ranges have the documents of the whole. They are refused if the whole is
// refused.
#include "data/input/input_ranges.hpp"

#include <array>
#include <optional>

#include "data/build/chunk_encoder.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace dt::data;

struct Reading {
  std::vector<std::vector<std::uint32_t>> documents;  // without empty ones
  std::uint64_t bad_lines = 0;
  bool is_refused = false;

  void read(const NextInput& inputs, const ReadOptions& options, const LineOptions& lines);
  bool operator==(const Reading&) const = default;
};

void append(const EncodedChunk& chunk, std::vector<std::uint32_t>& open, Reading& out) {
  for (const EncodedDocumentRange& part : chunk.parts) {
    const auto ids = std::span(chunk.ids).subspan(part.begin, part.end - part.begin);
    open.insert(open.end(), ids.begin(), ids.end());
    if (!part.ends_document) continue;
    if (!open.empty()) out.documents.push_back(open);
    open.clear();
  }
  out.bad_lines += chunk.issues.bad_lines;
}

void Reading::read(const NextInput& inputs, const ReadOptions& options, const LineOptions& lines) {
  static const auto tokenizer = make_tokenizer("bytes");
  const auto encoder = tokenizer->encoder();
  std::vector<std::uint32_t> open;
  try {
    ChunkReader reader(inputs, options, *tokenizer, [] {});
    while (const auto chunk = reader.next()) append(encode_chunk(*chunk, *encoder, lines), open, *this);
  } catch (const dt::Error& error) {
    if (error.kind() != dt::ErrorKind::input) throw;
    is_refused = true;
  }
  dt_fuzz::require(open.empty() || is_refused, "a range ends with a document");
}

ReadOptions options_of(std::uint8_t byte) {
  static const std::array<std::string, 7> separators = {"\n", "\n\n", "--", "aba", "abcab", "", "<|end|>"};
  ReadOptions options;
  options.format = byte % 8 < 7 ? InputFormat::text
                   : byte < 192 ? InputFormat::jsonl
                                : InputFormat::automatic;
  options.takes_tokens = false;
  options.decompress_memory = 0;
  if (byte % 8 < 7) options.document_separator = separators[byte % 8];
  options.chunk_bytes = std::size_t{1} << (byte / 8 % 8);
  return options;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  static const dt_fuzz::ScratchFolder folder;
  const std::string path = folder.put("input", dt_fuzz::text_of(bytes + 2, size - 2));
  const ReadOptions options = options_of(bytes[0]);
  const LineOptions lines = {"text", bytes[0] >= 128};
  Reading whole, parts;
  whole.read(walk_of({path}), options, lines);
  std::optional<InputRanges> made;
  try {
    made.emplace(std::vector<std::string>{path}, options, 1U + bytes[1]);
  } catch (const dt::Error& error) {
    dt_fuzz::require(error.kind() == dt::ErrorKind::input && whole.is_refused,
                     "ranges are refused where the whole is");
    return 0;
  }
  const InputRanges& ranges = *made;
  for (std::uint64_t i = 0; i < ranges.count() && !parts.is_refused; ++i) {
    const auto walk = std::make_shared<RangeWalk>(ranges, [i](std::uint64_t range) { return range == i; });
    parts.read([walk] { return walk->next(); }, options, lines);
  }
  dt_fuzz::require(parts.is_refused == whole.is_refused, "ranges are refused where the whole is");
  dt_fuzz::require(whole.is_refused || parts == whole, "ranges have the documents of the whole");
  return 0;
}
