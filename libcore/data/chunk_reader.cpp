#include "data/chunk_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "data/utf8.hpp"

namespace dt::data {

namespace {

constexpr int idle_ms = 200;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// What std::count does, but in bytes, of which a vector holds more.
std::uint64_t count_newlines(std::string_view text) {
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += 255) {
    std::uint8_t in_block = 0;
    for (const char c : text.substr(begin, 255)) in_block = static_cast<std::uint8_t>(in_block + (c == '\n'));
    sum += in_block;
  }
  return sum;
}

}  // namespace

ChunkReader::ChunkReader(const std::vector<std::string>& inputs, ReadOptions options,
                         const Tokenizer& tokenizer, std::function<void()> idle)
    : walk_(inputs, options.format),
      options_(std::move(options)),
      tokenizer_(tokenizer),
      idle_(std::move(idle)) {}

std::optional<Chunk> ChunkReader::next() {
  while (!input_) {
    input_ = walk_.next();
    if (!input_) return std::nullopt;
    open(*input_);
  }
  for (;;) {
    fill();
    Chunk chunk;
    const std::size_t end = cut(chunk.parts);
    if (end == 0 && !at_end_) {
      target_bytes_ *= 2;
      continue;
    }
    chunk.is_jsonl = input_->is_jsonl;
    chunk.source = source_;
    chunk.first_line = line_;
    std::string rest = buffer_.substr(end);
    buffer_.resize(end);
    chunk.bytes = std::exchange(buffer_, std::move(rest));
    line_ += count_newlines(chunk.bytes);
    target_bytes_ = options_.chunk_bytes;
    if (at_end_) input_.reset();
    return chunk;
  }
}

void ChunkReader::open(const InputFile& input) {
  file_ = input.is_stdin ? File() : File::open_read(input.path);
  descriptor_ = input.is_stdin ? STDIN_FILENO : file_.descriptor();
  source_ = std::make_shared<std::string>(input.is_stdin ? "standard input" : input.path.string());
  buffer_.clear();
  target_bytes_ = options_.chunk_bytes;
  at_end_ = false;
  line_ = 1;
  fill();
  if (buffer_.starts_with(byte_order_mark)) buffer_.erase(0, byte_order_mark.size());
}

void ChunkReader::fill() {
  if (target_bytes_ > options_.max_chunk_bytes) throw too_long();
  std::size_t filled = buffer_.size();
  if (filled < target_bytes_) buffer_.resize(target_bytes_);
  while (filled < target_bytes_ && !at_end_) {
    const std::size_t count = read_some(buffer_.data() + filled, target_bytes_ - filled);
    at_end_ = count == 0;
    filled += count;
  }
  buffer_.resize(filled);
}

Error ChunkReader::too_long() const {
  const std::string limit = format_bytes(options_.max_chunk_bytes);
  if (input_->is_jsonl) {
    return Error(ErrorKind::input, fmt::format("{}:{}: a line is longer than {}", *source_, line_, limit),
                 "split its document into several, or give it as plain text (--format text)");
  }
  return Error(ErrorKind::input,
               fmt::format("{}:{}: there is no place to cut text in {}", *source_, line_, limit),
               "this tokenizer takes text as a whole: split it into documents (--document-separator)");
}

std::size_t ChunkReader::read_some(char* out, std::size_t size) {
  for (;;) {
    if (!input_->bytes) {
      pollfd waiting{descriptor_, POLLIN, 0};
      if (::poll(&waiting, 1, idle_ms) <= 0) {  // nothing yet, or a signal came
        idle_();
        continue;
      }
    }
    const ssize_t count = ::read(descriptor_, out, size);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN || errno == EINTR) {
      idle_();
      continue;
    }
    throw system_error(errno, "read", *source_);
  }
}

/// How much of the buffer the next chunk takes, and for text which documents its parts belong to.
std::size_t ChunkReader::cut(std::vector<Part>& parts) const {
  return input_->is_jsonl ? cut_lines() : cut_text(parts);
}

std::size_t ChunkReader::cut_lines() const {
  if (at_end_) return buffer_.size();
  const std::size_t newline = buffer_.rfind('\n');
  return newline == std::string::npos ? 0 : newline + 1;
}

std::size_t ChunkReader::cut_text(std::vector<Part>& parts) const {
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
  // A separator may have begun in the last bytes.
  const std::size_t held_back = separator.empty() ? 0 : std::min(separator.size() - 1, text.size() - begin);
  const std::string_view open = text.substr(begin, text.size() - held_back - begin);
  const std::size_t end = begin + tokenizer_.safe_cut(open.substr(0, whole_characters(open)));
  if (end > begin) parts.push_back({begin, end, false});
  return end;
}

}  // namespace dt::data
