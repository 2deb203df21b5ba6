#pragma once
// Splits inputs into a stream of chunks of about 1 MiB that can be encoded independently.

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
  std::string bytes;                          // bytes of the stream, without a byte order mark at its start
  std::shared_ptr<const InputStream> stream;  // for JSON lines, the chunk holds whole lines, not yet split
  std::vector<DocumentRange> parts;           // for text, and for tokens if the stream has documents
  std::uint64_t first_line = 1;  // number of the first line, counted from where reading of the stream began
  std::uint64_t file_bytes = 0;  // bytes read from files for this chunk
  std::uint64_t invalid_sequences = 0;  // sequences mended in or near the chunk
  std::uint64_t first_token = 0;        // for tokens: number of the first token in the stream
  bool ends_stream = false;             // for tokens
};

struct ReadOptions : InputOptions {
  std::string document_separator;  // splits text into documents; "" makes each file a document
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Limit on content that cannot be cut (a JSON line, or text that a tokenizer takes as a whole),
  /// since it is held in memory.
  std::size_t max_chunk_bytes = std::size_t{256} << 20;
};

/// Returns the line's number in the file, even if reading began in the middle of it.
std::uint64_t line_in_file(const InputStream& stream, std::uint64_t line);

/// Reads inputs one after another. Chunk borders do not depend on how a pipe delivers its bytes.
class ChunkReader {
 public:
  /// `idle` is called a few times a second while a pipe has nothing to read. Its exceptions
  /// propagate.
  ChunkReader(NextInput inputs, ReadOptions options, const Tokenizer& tokenizer, std::function<void()> idle);
  /// Returns the next chunk, or none at the end.
  /// Errors: input, naming the file and, if a line or text is too long, the line; environment for a
  /// failed read.
  std::optional<Chunk> next();

 private:
  bool begin_stream();
  Chunk next_tokens();
  void next_block();
  void fill();
  Error too_long() const;
  std::size_t cut(std::vector<DocumentRange>& parts) const;
  std::size_t cut_text(std::vector<DocumentRange>& parts) const;
  std::size_t cut_lines() const;

  InputReader inputs_;
  ReadOptions options_;
  const Tokenizer& tokenizer_;
  std::function<void()> idle_;

  std::shared_ptr<const InputStream> stream_;  // stream in progress
  std::optional<InputBlock> block_;
  std::size_t block_taken_ = 0;   // bytes of the block already in the buffer
  std::uint64_t file_bytes_ = 0;  // since the last chunk, as is the next member
  std::uint64_t invalid_sequences_ = 0;
  std::string buffer_;            // read but not yet returned
  std::size_t target_bytes_ = 0;  // size to which the buffer grows before a cut is sought
  bool at_end_ = false;
  std::uint64_t line_ = 1;  // line number of the buffer's first byte
};

}  // namespace dt::data
