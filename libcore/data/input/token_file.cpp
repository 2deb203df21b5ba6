#include "data/input/token_file.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "data/input/megatron_index.hpp"

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
  if (read_full(bytes, text) != count) throw input_error("{} is truncated: it ends within its header", name);
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
    throw input_error("{} has version {} of the NumPy format; dt reads versions 1 to 3", name, version);
  }
  const std::uint32_t size = little_endian(read_exactly(bytes, version == 1 ? 2 : 4, name));
  if (size > max_npy_header_bytes)
    throw input_error("{} has a header of {} bytes, which is not valid for the NumPy format", name, size);
  return read_exactly(bytes, size, name);
}

constexpr std::size_t block_bytes = std::size_t{256} << 10;  // whole ids of every type

}  // namespace

std::size_t token_bytes(TokenType type) {
  const auto* found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.type == type; });
  DT_CHECK(found != entries.end(), "token type {} does not exist", static_cast<int>(type));
  return found->bytes;
}

std::optional<TokenType> token_type_of_numpy(const std::string& name) {
  return type_where([&](const Entry& entry) { return entry.numpy == name; });
}

std::optional<TokenType> token_type_of_megatron(std::uint8_t code) {
  return type_where([&](const Entry& entry) { return code != 0 && entry.megatron == code; });
}

bool is_npy(std::string_view first) {
  return first.starts_with(npy_magic);
}

bool is_llmc(std::string_view first) {
  return first.starts_with(llmc_gpt2) || first.starts_with(llmc_llama3);
}

void check_is_text(std::string_view first, const std::string& name, const std::string& plain_name) {
  constexpr const char* raw = "read raw ids with --format bin, --token-type u16 or u32, and --tokenizer";
  constexpr std::size_t few = 16;
  if (first.starts_with("MMIDIDX"))
    throw Error(ErrorKind::input, name + " is a Megatron index",
                "use --format megatron and give the .bin file that belongs to it");
  if (plain_name.ends_with(".npy") && !first.empty())
    throw Error(ErrorKind::input, name + " has no NumPy header, which numpy.save writes",
                std::string("is it a memmap? ") + raw);
  const auto zeros = static_cast<std::size_t>(std::ranges::count(first, '\0'));
  const bool is_binary = zeros > 0 || find_invalid_utf8(first.substr(0, whole_characters(first))).has_value();
  if (plain_name.ends_with(".bin") && is_binary)
    throw Error(ErrorKind::input, name + " is neither text nor an llm.c file of token ids",
                std::string(raw) +
                    "; read Megatron files, which have an .idx in the same folder, with --format megatron");
  if (first.size() >= few && zeros * 4 >= first.size())
    throw Error(
        ErrorKind::input,
        fmt::format("{} does not look like text: {} of its first {} bytes are zero", name, zeros,
                    first.size()),
        std::string(raw) +
            "; convert UTF-16 with iconv -t UTF-8; read text that contains zero bytes with --format text");
}

TokenHead read_npy_head(ByteSource& bytes, const std::string& name) {
  const std::string header = read_npy_dictionary(bytes, name);
  std::smatch descr;
  std::smatch shape;
  const bool is_array = std::regex_search(header, descr, std::regex("'descr': *'([^']*)'")) &&
                        std::regex_search(header, shape, std::regex("'shape': *\\(([0-9]*)(,[^)]*)?\\)"));
  if (!is_array) throw input_error("{} has no NumPy header of an array of numbers", name);
  const auto type = token_type_of_numpy(descr[1]);
  if (!type) {
    throw Error(ErrorKind::input, fmt::format("{} holds numbers of type '{}'", name, descr[1].str()),
                "token ids must be integers of at most 32 bits, or <i8: convert the array with NumPy's "
                "astype(\"<u4\")");
  }
  if (shape[1].length() == 0 || shape[1].length() > 18 || shape[2] != ",") {
    throw Error(ErrorKind::input,
                fmt::format("{} has shape ({}{}), but a one-dimensional array of ids is expected", name,
                            shape[1].str(), shape[2].str()),
                "flatten it with NumPy's reshape(-1)");
  }
  return {*type, std::stoull(shape[1])};
}

TokenHead read_llmc_head(ByteSource& bytes, const std::string& name) {
  const std::string header = read_exactly(bytes, llmc_header_bytes, name);
  const TokenType type = header.starts_with(llmc_gpt2) ? TokenType::u16 : TokenType::u32;
  return {type, little_endian(std::string_view(header).substr(8, 4))};
}

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
                fmt::format("{} ends in the middle of a {}-byte token", name_, token_bytes(head_.type)),
                "check whether the file is truncated and whether --token-type is right");
  }
  num_read_ += block.bytes.size() / token_bytes(head_.type);
  check_count(block.is_last);
  if (index_ != nullptr) block.parts = parts_of(block.bytes.size(), block.is_last);
  return block;
}

void TokenReader::check_count(bool is_last) const {
  if (!head_.num_tokens) return;
  if (num_read_ > *head_.num_tokens)
    throw input_error("{} has data after the {} tokens that its header states", name_, *head_.num_tokens);
  if (is_last && num_read_ < *head_.num_tokens)
    throw input_error("{} is truncated: it has {} of {} tokens", name_, num_read_, *head_.num_tokens);
}

/// Returns the parts of documents within the next `num_bytes`.
std::vector<DocumentRange> TokenReader::parts_of(std::size_t num_bytes, bool is_last) {
  const std::size_t size = token_bytes(head_.type);
  std::vector<DocumentRange> parts;
  for (std::size_t begin = 0; begin < num_bytes;) {
    if (document_left_ == 0 && !next_document())
      throw input_error("{} has more tokens than the documents in its index", name_);
    const std::size_t end = begin + std::min<std::uint64_t>(document_left_ * size, num_bytes - begin);
    document_left_ -= (end - begin) / size;
    parts.push_back({begin, end, document_left_ == 0});
    begin = end;
  }
  if (is_last && (document_left_ > 0 || next_document()))
    throw input_error("{} is truncated: it has {} tokens, fewer than its index states", name_, num_read_);
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
