#include "data/input/megatron_index.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace dt::data {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view index_magic = "MMIDIDX\0\0"sv;
constexpr std::uint64_t index_version = 1;
constexpr std::uint64_t max_count = std::uint64_t{1} << 40;
constexpr std::size_t buffer_bytes = std::size_t{64} << 10;

struct IndexHeader {
  std::uint64_t version = 0;
  std::uint8_t type = 0;
  std::uint64_t num_sequences = 0;
  std::uint64_t num_ends = 0;  // a leading 0, then one per document
};
constexpr std::size_t index_header_bytes = index_magic.size() + 8 + 1 + 8 + 8;

template <class Number>
void take(std::string_view& bytes, Number& number) {
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
}

IndexHeader read_index_header(const File& file) {
  std::string text(index_header_bytes, '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  std::string_view bytes = text;
  const std::string path = file.path().string();
  if (!bytes.starts_with(index_magic)) {
    throw Error(ErrorKind::input, path + " is not a Megatron index",
                "an index made by tools/preprocess_data.py begins with MMIDIDX");
  }
  bytes.remove_prefix(index_magic.size());
  IndexHeader header;
  take(bytes, header.version);
  take(bytes, header.type);
  take(bytes, header.num_sequences);
  take(bytes, header.num_ends);
  if (header.version != index_version)
    throw input_error("{} has version {}; dt reads version {}", path, header.version, index_version);
  if (header.num_sequences > max_count || header.num_ends > max_count) {
    throw input_error("{} is damaged: it states {} sequences and {} documents", path, header.num_sequences,
                      header.num_ends);
  }
  return header;
}

}  // namespace

MegatronIndex::Numbers::Numbers(const File& file, std::uint64_t offset, std::uint64_t count,
                                std::size_t bytes)
    : file_(file), offset_(offset), left_(count), bytes_(bytes), end_(offset + count * bytes) {}

std::int64_t MegatronIndex::Numbers::next() {
  if (taken_ == buffer_.size()) refill();
  const char* at = buffer_.data() + taken_;
  taken_ += bytes_;
  --left_;
  if (bytes_ == sizeof(std::int64_t)) {
    std::int64_t number = 0;
    std::memcpy(&number, at, sizeof(number));
    return number;
  }
  std::int32_t number = 0;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

void MegatronIndex::Numbers::refill() {
  DT_CHECK(left_ > 0, "{} has no numbers left", file_.path().string());
  buffer_.resize(std::min<std::uint64_t>(buffer_bytes, left_ * bytes_));
  file_.read_at(offset_, std::as_writable_bytes(std::span(buffer_)));
  offset_ += buffer_.size();
  taken_ = 0;
}

MegatronIndex::MegatronIndex(const fs::path& path) : file_(File::open_read(path)) {
  const IndexHeader header = read_index_header(file_);
  const auto type = token_type_of_megatron(header.type);
  if (!type)
    throw input_error("{} states the token type {}, which is not an integer type", path.string(),
                      header.type);
  type_ = *type;
  num_sequences_ = header.num_sequences;
  lengths_.emplace(file_, index_header_bytes, num_sequences_, sizeof(std::int32_t));
  pointers_.emplace(file_, lengths_->end(), num_sequences_, sizeof(std::int64_t));
  ends_.emplace(file_, pointers_->end(), header.num_ends, sizeof(std::int64_t));
  if (!ends_->at_end() && ends_->next() != 0)
    throw input_error("{} is damaged: its first document does not begin at its first sequence",
                      path.string());
}

std::optional<std::uint64_t> MegatronIndex::next_document() {
  if (ends_->at_end()) {
    if (sequence_ == num_sequences_) return std::nullopt;
    throw input_error("{} is damaged: the sequences from {} on belong to no document", file_.path().string(),
                      sequence_);
  }
  const auto end = static_cast<std::uint64_t>(ends_->next());
  if (end < sequence_ || end > num_sequences_)
    throw input_error("{} is damaged: a document ends at sequence {}", file_.path().string(), end);
  std::uint64_t tokens = 0;
  while (sequence_ < end) tokens += next_sequence();
  return tokens;
}

std::uint64_t MegatronIndex::next_sequence() {
  const std::int64_t length = lengths_->next();
  if (length < 0 || static_cast<std::uint64_t>(pointers_->next()) != pointer_)
    throw input_error("{}: sequence {} does not begin where the previous one ends", file_.path().string(),
                      sequence_);
  pointer_ += static_cast<std::uint64_t>(length) * token_bytes(type_);
  ++sequence_;
  return static_cast<std::uint64_t>(length);
}

}  // namespace dt::data
