#include "data/input/token_reader.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::data {

namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;  // whole ids of every type

}  // namespace

TokenReader::TokenReader(ByteSource& bytes, std::string name, TokenHead head, MegatronIndex* index)
    : bytes_(bytes), name_(std::move(name)), head_(head), index_(index) {}

TokenBlock TokenReader::next() {
  TokenBlock block;
  block.bytes.resize(block_bytes);
  block.bytes.resize(read_full(bytes_, block.bytes));
  block.is_last = block.bytes.size() < block_bytes;
  block.first_token = num_read_;
  if (block.bytes.size() % token_bytes(head_.type) != 0) {
    throw Error(ErrorKind::input,
                fmt::format("{} ends within a token of {} bytes", name_, token_bytes(head_.type)),
                "is it truncated, or are its tokens of another type (--token-type)?");
  }
  num_read_ += block.bytes.size() / token_bytes(head_.type);
  check_count(block.is_last);
  if (index_ != nullptr) block.parts = parts_of(block.bytes.size(), block.is_last);
  return block;
}

void TokenReader::check_count(bool is_last) const {
  if (!head_.num_tokens) return;
  if (num_read_ > *head_.num_tokens)
    throw input_error("{} goes on after the {} tokens that its header says", name_, *head_.num_tokens);
  if (is_last && num_read_ < *head_.num_tokens)
    throw input_error("{} is truncated: it has {} of {} tokens", name_, num_read_, *head_.num_tokens);
}

/// Returns the parts of documents within the next `num_bytes`.
std::vector<DocumentRange> TokenReader::parts_of(std::size_t num_bytes, bool is_last) {
  const std::size_t size = token_bytes(head_.type);
  std::vector<DocumentRange> parts;
  for (std::size_t begin = 0; begin < num_bytes;) {
    if (document_left_ == 0 && !next_document())
      throw input_error("{} has more tokens than its index has in documents", name_);
    const std::size_t end = begin + std::min<std::uint64_t>(document_left_ * size, num_bytes - begin);
    document_left_ -= (end - begin) / size;
    parts.push_back({begin, end, document_left_ == 0});
    begin = end;
  }
  if (is_last && (document_left_ > 0 || next_document()))
    throw input_error("{} is truncated: its index has more tokens than the {} in it", name_, num_read_);
  return parts;
}

/// Moves to the next document that has tokens. Returns false after the last.
bool TokenReader::next_document() {
  while (const auto tokens = index_->next_document()) {
    document_left_ = *tokens;
    if (document_left_ > 0) return true;
  }
  return false;
}

}  // namespace dt::data
