#include "data/input/token_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <regex>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text/utf8.hpp"

namespace dt::data {

namespace {

struct Entry {
  TokenType type;
  std::size_t bytes;
  const char* numpy;
  std::uint8_t megatron;  // 0: no code
};

constexpr std::array entries = {
    Entry{TokenType::u8, 1, "|u1", 1},  Entry{TokenType::i8, 1, "|i1", 2},
    Entry{TokenType::i16, 2, "<i2", 3}, Entry{TokenType::u16, 2, "<u2", 8},
    Entry{TokenType::i32, 4, "<i4", 4}, Entry{TokenType::u32, 4, "<u4", 0},
    Entry{TokenType::i64, 8, "<i8", 5},
};

template <class Matches>
std::optional<TokenType> type_where(Matches matches) {
  const auto* found = std::find_if(entries.begin(), entries.end(), matches);
  return found == entries.end() ? std::nullopt : std::optional(found->type);
}

}  // namespace

std::size_t token_bytes(TokenType type) {
  const auto* found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.type == type; });
  DT_CHECK(found != entries.end(), "no token type {}", static_cast<int>(type));
  return found->bytes;
}

std::optional<TokenType> token_type_of_numpy(const std::string& name) {
  return type_where([&](const Entry& entry) { return entry.numpy == name; });
}

std::optional<TokenType> token_type_of_megatron(std::uint8_t code) {
  return type_where([&](const Entry& entry) { return code != 0 && entry.megatron == code; });
}

namespace {

using namespace std::string_view_literals;

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t max_npy_header_bytes = 4096;  // the header of an array of numbers has some 100

/// Magic and version of llm.c's files. The model that a file was made for decides the size of an
/// id.
constexpr std::string_view llmc_gpt2 = "\x88\xD8\x34\x01\x01\0\0\0"sv;    // 20240520, 1
constexpr std::string_view llmc_llama3 = "\xA1\xD9\x34\x01\x07\0\0\0"sv;  // 20240801, 7
constexpr std::size_t llmc_header_bytes = std::size_t{256} * 4;

std::string read_exactly(ByteSource& bytes, std::size_t count, const std::string& name) {
  std::string text(count, '\0');
  if (read_full(bytes, text) != count) throw input_error("{} is truncated: it ends in its header", name);
  return text;
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

/// Returns the Python dictionary in NumPy's header.
std::string read_npy_dictionary(ByteSource& bytes, const std::string& name) {
  const std::string begin = read_exactly(bytes, npy_magic.size() + 2, name);
  const int version = begin[npy_magic.size()];
  if (version < 1 || version > 3) {
    throw input_error("{} is of version {} of NumPy's format; versions 1 to 3 are read", name, version);
  }
  const std::uint32_t size = little_endian(read_exactly(bytes, version == 1 ? 2 : 4, name));
  if (size > max_npy_header_bytes)
    throw input_error("{} has a header of {} bytes, which is no NumPy's", name, size);
  return read_exactly(bytes, size, name);
}

}  // namespace

bool is_npy(std::string_view first) {
  return first.starts_with(npy_magic);
}

bool is_llmc(std::string_view first) {
  return first.starts_with(llmc_gpt2) || first.starts_with(llmc_llama3);
}

void check_is_text(std::string_view first, const std::string& name, const std::string& plain_name) {
  constexpr const char* raw = "ids alone are read by --format bin, --token-type u16 or u32, and --tokenizer";
  constexpr std::size_t few = 16;
  if (first.starts_with("MMIDIDX"))
    throw Error(ErrorKind::input, name + " is an index of Megatron's",
                "give --format megatron, and the .bin file that it is of");
  if (plain_name.ends_with(".npy") && !first.empty())
    throw Error(ErrorKind::input, name + " has no header of NumPy's, as numpy.save writes it",
                std::string("is it a memmap? ") + raw);
  const auto zeros = static_cast<std::size_t>(std::ranges::count(first, '\0'));
  const bool is_binary = zeros > 0 || find_invalid_utf8(first.substr(0, whole_characters(first))).has_value();
  if (plain_name.ends_with(".bin") && is_binary)
    throw Error(ErrorKind::input, name + " is neither text nor token ids of llm.c's",
                std::string(raw) + "; Megatron's, with an .idx beside them, by --format megatron");
  if (first.size() >= few && zeros * 4 >= first.size())
    throw Error(
        ErrorKind::input,
        fmt::format("{} is hardly text: {} of its first {} bytes are zeros", name, zeros, first.size()),
        std::string(raw) + "; convert UTF-16 with iconv -t UTF-8; text with zeros by --format text");
}

TokenHead read_npy_head(ByteSource& bytes, const std::string& name) {
  const std::string header = read_npy_dictionary(bytes, name);
  std::smatch descr;
  std::smatch shape;
  const bool is_array = std::regex_search(header, descr, std::regex("'descr': *'([^']*)'")) &&
                        std::regex_search(header, shape, std::regex("'shape': *\\(([0-9]*)(,[^)]*)?\\)"));
  if (!is_array) throw input_error("{} has no header of NumPy's for an array of numbers", name);
  const auto type = token_type_of_numpy(descr[1]);
  if (!type) {
    throw Error(
        ErrorKind::input, fmt::format("{} holds numbers of type '{}'", name, descr[1].str()),
        "token ids are whole numbers of up to 32 bits, or <i8: convert it with numpy's astype(\"<u4\")");
  }
  if (shape[1].length() == 0 || shape[1].length() > 18 || shape[2] != ",") {
    throw Error(ErrorKind::input,
                fmt::format("{} is no single row of ids, but of shape {}", name, shape[0].str()),
                "flatten it with numpy's reshape(-1)");
  }
  return {*type, std::stoull(shape[1])};
}

TokenHead read_llmc_head(ByteSource& bytes, const std::string& name) {
  const std::string header = read_exactly(bytes, llmc_header_bytes, name);
  const TokenType type = header.starts_with(llmc_gpt2) ? TokenType::u16 : TokenType::u32;
  return {type, little_endian(std::string_view(header).substr(8, 4))};
}

namespace {

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
    throw Error(ErrorKind::input, path + " is no index of Megatron's",
                "it begins with MMIDIDX where tools/preprocess_data.py made it");
  }
  bytes.remove_prefix(index_magic.size());
  IndexHeader header;
  take(bytes, header.version);
  take(bytes, header.type);
  take(bytes, header.num_sequences);
  take(bytes, header.num_ends);
  if (header.version != index_version)
    throw input_error("{} is of version {}; version {} is read", path, header.version, index_version);
  if (header.num_sequences > max_count || header.num_ends > max_count) {
    throw input_error("{} is damaged: it counts {} sequences and {} documents", path, header.num_sequences,
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
  DT_CHECK(left_ > 0, "{} has no more numbers", file_.path().string());
  buffer_.resize(std::min<std::uint64_t>(buffer_bytes, left_ * bytes_));
  file_.read_at(offset_, std::as_writable_bytes(std::span(buffer_)));
  offset_ += buffer_.size();
  taken_ = 0;
}

MegatronIndex::MegatronIndex(const fs::path& path) : file_(File::open_read(path)) {
  const IndexHeader header = read_index_header(file_);
  const auto type = token_type_of_megatron(header.type);
  if (!type)
    throw input_error("{} says that numbers are of type {}, not whole ones", path.string(), header.type);
  type_ = *type;
  num_sequences_ = header.num_sequences;
  lengths_.emplace(file_, index_header_bytes, num_sequences_, sizeof(std::int32_t));
  pointers_.emplace(file_, lengths_->end(), num_sequences_, sizeof(std::int64_t));
  ends_.emplace(file_, pointers_->end(), header.num_ends, sizeof(std::int64_t));
  if (!ends_->at_end() && ends_->next() != 0)
    throw input_error("{} is damaged: its first document does not begin with its first sequence",
                      path.string());
}

std::optional<std::uint64_t> MegatronIndex::next_document() {
  if (ends_->at_end()) {
    if (sequence_ == num_sequences_) return std::nullopt;
    throw input_error("{} is damaged: sequences from {} on are in no document", file_.path().string(),
                      sequence_);
  }
  const auto end = static_cast<std::uint64_t>(ends_->next());
  if (end < sequence_ || end > num_sequences_)
    throw input_error("{} is damaged: a document ends with sequence {}", file_.path().string(), end);
  std::uint64_t tokens = 0;
  while (sequence_ < end) tokens += next_sequence();
  return tokens;
}

std::uint64_t MegatronIndex::next_sequence() {
  const std::int64_t length = lengths_->next();
  if (length < 0 || static_cast<std::uint64_t>(pointers_->next()) != pointer_)
    throw input_error("{}: sequence {} does not begin where the one before ends", file_.path().string(),
                      sequence_);
  pointer_ += static_cast<std::uint64_t>(length) * token_bytes(type_);
  ++sequence_;
  return static_cast<std::uint64_t>(length);
}

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
