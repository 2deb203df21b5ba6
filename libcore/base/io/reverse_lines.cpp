#include "base/io/reverse_lines.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace dt {

ReverseLines::ReverseLines(const fs::path& path, std::size_t block_bytes, std::size_t max_line_bytes)
    : file_(File::open_read(path)), block_bytes_(block_bytes), max_line_bytes_(max_line_bytes) {
  for (;;) {
    file_bytes_ = file_.size();
    try {
      complete_bytes_ = end_ = find_line_begin(file_bytes_);
      return;
    } catch (const Error&) {
      // Another process may cut off an incomplete last line at this moment.
      if (file_.size() >= file_bytes_) throw;
      block_.clear();
    }
  }
}

bool ReverseLines::next(std::string& line) {
  while (end_ > 0) {
    const std::uint64_t end = end_ - 1;
    const std::uint64_t begin = find_line_begin(end);
    end_ = begin;
    if (end - begin > max_line_bytes_) continue;
    line.resize(end - begin);
    if (begin >= block_begin_ && end <= block_begin_ + block_.size())
      block_.copy(line.data(), line.size(), begin - block_begin_);
    else
      file_.read_at(begin, std::as_writable_bytes(std::span(line)));
    return true;
  }
  return false;
}

std::uint64_t ReverseLines::find_line_begin(std::uint64_t end) {
  while (end > 0) {
    load_before(end);
    const std::size_t newline = std::string_view(block_).substr(0, end - block_begin_).rfind('\n');
    if (newline != std::string_view::npos) return block_begin_ + newline + 1;
    end = block_begin_;
  }
  return 0;
}

void ReverseLines::load_before(std::uint64_t end) {
  if (block_begin_ < end && end <= block_begin_ + block_.size()) return;
  const std::uint64_t begin = end - std::min<std::uint64_t>(end, block_bytes_);
  block_.resize(end - begin);
  block_begin_ = begin;
  file_.read_at(begin, std::as_writable_bytes(std::span(block_)));
}

}  // namespace dt
