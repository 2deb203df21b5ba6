#include "data/input/chunk_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"

namespace dt::data {

namespace {

/// Counts newlines as std::count does, but in 8-bit counters, of which a vector register holds
/// more.
std::uint64_t count_newlines(std::string_view text) {
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += 255) {
    std::uint8_t in_block = 0;
    for (const char c : text.substr(begin, 255)) in_block = static_cast<std::uint8_t>(in_block + (c == '\n'));
    sum += in_block;
  }
  return sum;
}

/// Returns the number of newlines in the first `bytes` of a file.
std::uint64_t lines_in_front(const fs::path& path, std::uint64_t bytes) {
  constexpr std::uint64_t step = std::uint64_t{1} << 20;
  const File file = File::open_read(path);
  std::string text;
  std::uint64_t lines = 0;
  for (std::uint64_t offset = 0; offset < bytes; offset += text.size()) {
    text.resize(std::min(step, bytes - offset));
    file.read_at(offset, std::as_writable_bytes(std::span(text)));
    lines += count_newlines(text);
  }
  return lines;
}

/// Returns the options with a type for ids without a header: the user's, else the type in which dt
/// stores ids.
InputOptions with_type(InputOptions options, const Tokenizer& tokenizer) {
  if (!options.raw_type) options.raw_type = tokenizer.info().fits_u16() ? TokenType::u16 : TokenType::u32;
  return options;
}

}  // namespace

std::uint64_t line_in_file(const InputStream& stream, std::uint64_t line) {
  if (!stream.lines_before) return line;
  InputStream::LinesBefore& before = *stream.lines_before;
  std::call_once(before.counted, [&] { before.count = lines_in_front(stream.name, stream.begin); });
  return before.count + line;
}

ChunkReader::ChunkReader(NextInput inputs, ReadOptions options, const Tokenizer& tokenizer,
                         std::function<void()> idle)
    : inputs_(std::move(inputs), with_type(options, tokenizer)),
      options_(std::move(options)),
      tokenizer_(tokenizer),
      idle_(std::move(idle)) {}

std::optional<Chunk> ChunkReader::next() {
  if (!stream_ && !begin_stream()) return std::nullopt;
  if (stream_->tokens) return next_tokens();
  for (;;) {
    fill();
    Chunk chunk;
    const std::size_t end = cut(chunk.parts);
    if (end == 0 && !at_end_) {
      target_bytes_ *= 2;
      continue;
    }
    chunk.stream = stream_;
    chunk.first_line = line_;
    chunk.file_bytes = std::exchange(file_bytes_, 0);
    chunk.invalid_sequences = std::exchange(invalid_sequences_, 0);
    std::string rest = buffer_.substr(end);
    buffer_.resize(end);
    chunk.bytes = std::exchange(buffer_, std::move(rest));
    line_ += count_newlines(chunk.bytes);
    target_bytes_ = options_.chunk_bytes;
    if (at_end_) stream_.reset();
    return chunk;
  }
}

/// Returns the next block of ids as a chunk.
Chunk ChunkReader::next_tokens() {
  if (!block_) next_block();
  Chunk chunk;
  chunk.bytes = std::move(block_->bytes);
  chunk.stream = stream_;
  chunk.parts = std::move(block_->parts);
  chunk.file_bytes = std::exchange(file_bytes_, 0);
  chunk.first_token = block_->first_token;
  chunk.ends_stream = block_->ends_stream;
  if (chunk.ends_stream) stream_.reset();
  block_.reset();
  return chunk;
}

bool ChunkReader::begin_stream() {
  next_block();
  if (!block_) return false;
  stream_ = block_->stream;
  if (stream_->begin == 0 && block_->bytes.starts_with(byte_order_mark))
    block_taken_ = byte_order_mark.size();
  buffer_.clear();
  target_bytes_ = options_.chunk_bytes;
  at_end_ = false;
  line_ = 1;
  return true;
}

void ChunkReader::next_block() {
  block_ = inputs_.next(idle_);
  block_taken_ = 0;
  if (!block_) return;
  file_bytes_ += block_->file_bytes;
  invalid_sequences_ += block_->invalid_sequences;
}

void ChunkReader::fill() {
  if (target_bytes_ > options_.max_chunk_bytes) throw too_long();
  if (!block_->ends_stream) buffer_.reserve(target_bytes_);
  while (buffer_.size() < target_bytes_ && !at_end_) {
    if (block_taken_ == block_->bytes.size()) {
      at_end_ = block_->ends_stream;
      if (!at_end_) next_block();
      continue;
    }
    const std::size_t count = std::min(target_bytes_ - buffer_.size(), block_->bytes.size() - block_taken_);
    buffer_.append(block_->bytes, block_taken_, count);
    block_taken_ += count;
  }
}

Error ChunkReader::too_long() const {
  const std::string limit = format_bytes(options_.max_chunk_bytes);
  const std::uint64_t line = line_in_file(*stream_, line_);
  if (stream_->is_jsonl) {
    return Error(ErrorKind::input, fmt::format("{}:{}: a line is longer than {}", stream_->name, line, limit),
                 "split the document into several lines, or read the file as plain text (--format text)");
  }
  return Error(
      ErrorKind::input,
      fmt::format("{}:{}: the tokenizer allows no cut within {} of text", stream_->name, line, limit),
      "split the text into documents (--document-separator)");
}

/// Returns how much of the buffer the next chunk takes. For text, also appends the chunk's parts to
/// `parts`.
std::size_t ChunkReader::cut(std::vector<DocumentRange>& parts) const {
  return stream_->is_jsonl ? cut_lines() : cut_text(parts);
}

std::size_t ChunkReader::cut_lines() const {
  if (at_end_) return buffer_.size();
  const std::size_t newline = buffer_.rfind('\n');
  return newline == std::string::npos ? 0 : newline + 1;
}

std::size_t ChunkReader::cut_text(std::vector<DocumentRange>& parts) const {
  const std::string_view text = buffer_;
  const std::string& separator = options_.document_separator;
  std::size_t begin = 0;
  if (!separator.empty()) {
    for (std::size_t found = 0; (found = text.find(separator, begin)) != text.npos;) {
      parts.push_back({begin, found, true});
      begin = found + separator.size();
    }
  }
  if (at_end_) {
    parts.push_back({begin, text.size(), true});
    return text.size();
  }
  // A separator may begin in the last bytes.
  const std::size_t held_back = separator.empty() ? 0 : std::min(separator.size() - 1, text.size() - begin);
  const std::string_view open = text.substr(begin, text.size() - held_back - begin);
  const std::size_t end = begin + tokenizer_.safe_cut(open.substr(0, whole_characters(open)));
  if (end > begin) parts.push_back({begin, end, false});
  return end;
}

}  // namespace dt::data
