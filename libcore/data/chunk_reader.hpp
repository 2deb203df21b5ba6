#pragma once
// Inputs as a stream of chunks of about a MiB that can be encoded independently of each other.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/input/input_reader.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

struct Chunk {
  std::string bytes;  // as they stand in the stream, a byte order mark at its start left out
  std::shared_ptr<const InputStream> stream;  // of JSON lines: whole ones, not yet split
  std::vector<Part> parts;                    // of text, and of tokens whose stream has documents
  std::uint64_t first_line = 1;               // of what is read of the stream
  std::uint64_t file_bytes = 0;               // read of files for it
  std::uint64_t invalid_sequences = 0;        // mended in it, or near
  std::uint64_t first_token = 0;              // of tokens: its number in the stream
  bool ends_stream = false;                   // of tokens
};

struct ReadOptions : InputOptions {
  std::string document_separator;  // text is split at it; "" makes a file a document
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// What cannot be cut (a JSON line, text that a tokenizer takes as a whole) must be shorter: it is held in
  /// memory.
  std::size_t max_chunk_bytes = std::size_t{256} << 20;
};

/// The line in the file, where that is read from the middle on.
std::uint64_t line_in_file(const InputStream& stream, std::uint64_t line);

/// Reads inputs one after the other. Chunks do not depend on how a pipe delivers its bytes.
class ChunkReader {
 public:
  /// `idle` is called a few times a second while a pipe has nothing to read; what it throws passes through.
  ChunkReader(NextInput inputs, ReadOptions options, const Tokenizer& tokenizer, std::function<void()> idle);
  /// Errors: input, naming the file and, for what is too long, the line; environment, a failed read.
  std::optional<Chunk> next();

 private:
  bool begin_stream();
  Chunk next_tokens();
  void next_block();
  void fill();
  Error too_long() const;
  std::size_t cut(std::vector<Part>& parts) const;
  std::size_t cut_text(std::vector<Part>& parts) const;
  std::size_t cut_lines() const;

  InputReader inputs_;
  ReadOptions options_;
  const Tokenizer& tokenizer_;
  std::function<void()> idle_;

  std::shared_ptr<const InputStream> stream_;  // that is being read
  std::optional<InputBlock> block_;
  std::size_t block_taken_ = 0;   // how much of it is in the buffer already
  std::uint64_t file_bytes_ = 0;  // these two: since the last chunk
  std::uint64_t invalid_sequences_ = 0;
  std::string buffer_;            // read but not yet handed out
  std::size_t target_bytes_ = 0;  // the buffer grows to this before a cut is looked for
  bool at_end_ = false;
  std::uint64_t line_ = 1;  // of the buffer's first byte
};

}  // namespace dt::data
