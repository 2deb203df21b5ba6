#include "data/read/token_shard.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <ranges>
#include <vector>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/io/mapped_file.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

namespace {

constexpr const char* remedy = "make the dataset again, or restore the file from a copy";

/// Returns an element. A payload's offset may be unaligned.
template <class Element>
Element element_at(std::span<const std::byte> bytes, std::size_t index) {
  Element element;
  std::memcpy(&element, bytes.data() + index * sizeof(Element), sizeof(Element));
  return element;
}

/// Calls use(index, value) for each element.
template <class Element, class Use>
void for_each_element(std::span<const std::byte> bytes, Use use) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Element); ++i) use(i, element_at<Element>(bytes, i));
}

template <class Use>
void for_each_token(DType dtype, std::span<const std::byte> bytes, Use use) {
  if (dtype == DType::u16) {
    for_each_element<std::uint16_t>(bytes, use);
  } else {
    for_each_element<std::uint32_t>(bytes, use);
  }
}

Error bad_header(const Hdf5Reader& file, const std::string& what) {
  return Error(ErrorKind::input, fmt::format("{}: {}", file.path().string(), what), remedy);
}

std::string text_attribute(const Hdf5Reader& file, const std::string& name) {
  if (auto value = file.string_attribute("/", name)) return *std::move(value);
  throw bad_header(file, fmt::format("it has no string attribute {}", name));
}

std::uint64_t digest_attribute(const Hdf5Reader& file, const std::string& name) {
  const std::string text = text_attribute(file, name);
  try {
    return from_hex(text);
  } catch (const Error& error) {
    throw bad_header(file, fmt::format("its attribute {}: {}", name, error.message()));
  }
}

std::int64_t integer_attribute(const Hdf5Reader& file, const std::string& name, std::int64_t least,
                               std::int64_t most) {
  const auto value = file.int_attribute("/", name);
  if (!value) throw bad_header(file, fmt::format("it has no integer attribute {}", name));
  if (*value >= least && *value <= most) return *value;
  throw bad_header(file, fmt::format("its attribute {} is {}, expected {} to {}", name, *value, least, most));
}

std::uint64_t count_attribute(const Hdf5Reader& file, const std::string& name) {
  return static_cast<std::uint64_t>(
      integer_attribute(file, name, 0, std::numeric_limits<std::int64_t>::max()));
}

void check_format(const Hdf5Reader& file) {
  if (file.string_attribute("/", "format") != shard_format) {
    throw Error(ErrorKind::input, fmt::format("{} is not a token shard", file.path().string()),
                "expected a file made by dt-shard-data");
  }
  const std::int64_t version =
      integer_attribute(file, "version", 0, std::numeric_limits<std::int64_t>::max());
  if (version != shard_version && version != masked_shard_version) {
    throw Error(ErrorKind::input, fmt::format("{} has version {}", file.path().string(), version),
                fmt::format("this dt reads versions {} and {}: make the dataset again with this dt",
                            shard_version, masked_shard_version));
  }
}

void check_shape(const Hdf5Reader& file, const std::string& dataset, std::uint64_t size) {
  const std::vector<std::uint64_t>& shape = file.info(dataset).shape;
  if (shape != std::vector{size}) {
    throw Error(ErrorKind::input,
                fmt::format("{}: {} does not have the {} elements that the header states",
                            file.path().string(), dataset, size),
                remedy);
  }
}

Split split_attribute(const Hdf5Reader& file) {
  const std::string name = text_attribute(file, "split");
  if (const auto split = parse_name<Split>(name)) return *split;
  throw bad_header(file, fmt::format("its attribute split is '{}', expected {}", name,
                                     fmt::join(names_of<Split>(), " or ")));
}

TokenizerIdentity tokenizer_attributes(const Hdf5Reader& file) {
  TokenizerIdentity tokenizer;
  tokenizer.name = text_attribute(file, "tokenizer");
  tokenizer.digest = digest_attribute(file, "tokenizer_digest");
  const std::int64_t vocabulary = integer_attribute(file, "vocabulary_size", 1, largest_vocabulary);
  tokenizer.vocabulary_size = static_cast<std::uint32_t>(vocabulary);
  // -1 means that no token ends documents.
  const std::int64_t eos = integer_attribute(file, "eos", -1, vocabulary - 1);
  if (eos >= 0) tokenizer.eos = static_cast<std::uint32_t>(eos);
  return tokenizer;
}

TokenShardHeader read_header(const Hdf5Reader& file) {
  check_format(file);
  TokenShardHeader header;
  header.split = split_attribute(file);
  header.tokenizer = tokenizer_attributes(file);
  header.dtype = file.info("/tokens").dtype;
  if (header.dtype != DType::u16 && header.dtype != DType::u32) {
    throw input_error("{}: /tokens holds {} elements; expected u16 or u32", file.path().string(),
                      dtype_name(header.dtype));
  }
  if (const DType dtype = file.info("/document_offsets").dtype; dtype != DType::u64) {
    throw input_error("{}: /document_offsets holds {} elements; expected u64", file.path().string(),
                      dtype_name(dtype));
  }
  header.masks_targets = file.int_attribute("/", "version") == masked_shard_version;
  if (header.masks_targets && header.dtype != DType::u32)
    throw input_error("{}: /tokens holds u16 elements, which cannot mark tokens excluded from the loss",
                      file.path().string());
  header.tokens = count_attribute(file, "num_tokens");
  header.documents = count_attribute(file, "num_documents");
  check_shape(file, "/tokens", header.tokens);
  check_shape(file, "/document_offsets", header.documents + 1);
  const std::uint64_t bytes = file.info("/tokens").bytes;
  check_shape(file, "/digests", ceil_div(bytes, digest_block_bytes));
  return header;
}

/// Returns the largest of the stored numbers after masking. Independent lanes keep the processor's
/// vector units busy.
template <class Element>
std::uint32_t largest_of(std::span<const std::byte> bytes, Element mask) {
  constexpr std::size_t num_lanes = 128 / sizeof(Element);
  std::array<Element, num_lanes> lanes{}, values;
  for (; bytes.size() >= sizeof(values); bytes = bytes.subspan(sizeof(values))) {
    std::memcpy(values.data(), bytes.data(), sizeof(values));
    for (std::size_t lane = 0; lane < num_lanes; ++lane)
      lanes[lane] = std::max(lanes[lane], static_cast<Element>(values[lane] & mask));
  }
  Element largest = *std::ranges::max_element(lanes);
  for_each_element<Element>(bytes, [&](std::size_t, Element stored) {
    largest = std::max(largest, static_cast<Element>(stored & mask));
  });
  return largest;
}

}  // namespace

struct TokenShard::State {
  fs::path path;
  TokenShardHeader header;
  std::vector<std::uint64_t> digests;
  std::uint64_t offsets_digest;
  DatasetInfo tokens;
  DatasetInfo document_offsets;
  MappedFile file;
  std::unique_ptr<std::atomic<bool>[]> verified;  // per block
  std::atomic<bool> offsets_verified = false;

  explicit State(const Hdf5Reader& hdf5)
      : path(hdf5.path()),
        header(read_header(hdf5)),
        digests(hdf5.read_all<std::uint64_t>("/digests")),
        offsets_digest(digest_attribute(hdf5, "document_offsets_digest")),
        tokens(hdf5.info("/tokens")),
        document_offsets(hdf5.info("/document_offsets")),
        file(hdf5.file()),
        verified(std::make_unique<std::atomic<bool>[]>(digests.size())) {
    header.bytes = file.bytes().size();
    header.digest = digest(std::as_bytes(std::span(digests)));
    for (const DatasetInfo& info : {tokens, document_offsets}) {
      if (info.offset + info.bytes > header.bytes)  // the file was truncated after its header was read
        throw input_error("{} is truncated: it has {} bytes", path.string(), header.bytes);
    }
  }

  std::span<const std::byte> payload(const DatasetInfo& info) const {
    return file.bytes().subspan(info.offset, info.bytes);
  }
};

TokenShard::TokenShard(const fs::path& path) : state_(std::make_unique<State>(Hdf5Reader(path))) {}
TokenShard::~TokenShard() = default;
TokenShard::TokenShard(TokenShard&&) noexcept = default;

const fs::path& TokenShard::path() const {
  return state_->path;
}

const TokenShardHeader& TokenShard::header() const {
  return state_->header;
}

void TokenShard::check_against(const ShardEntry& entry, const TokenizerIdentity& tokenizer) const {
  const TokenShardHeader& h = header();
  const char* differs = h.bytes != entry.bytes           ? "size"
                        : h.split != entry.split         ? "split"
                        : h.tokens != entry.tokens       ? "number of tokens"
                        : h.documents != entry.documents ? "number of documents"
                        : h.digest != entry.digest       ? "digest"
                        : !(h.tokenizer == tokenizer)    ? "tokenizer"
                                                         : nullptr;
  if (differs == nullptr) return;
  throw Error(ErrorKind::input,
              fmt::format("{}: its {} does not match {}", path().string(), differs, dataset_file_name),
              remedy);
}

std::size_t TokenShard::num_blocks() const {
  return state_->digests.size();
}

std::span<const std::byte> TokenShard::block(std::size_t index) const {
  const auto tokens = state_->payload(state_->tokens);
  const std::size_t begin = index * digest_block_bytes;
  return tokens.subspan(begin, std::min(digest_block_bytes, tokens.size() - begin));
}

std::string TokenShard::block_problem(std::size_t index) const {
  // Parts stay in a core's cache for both passes.
  constexpr std::size_t part_bytes = std::size_t{128} << 10;
  Digester digester;
  std::uint32_t largest = 0;
  const std::span<const std::byte> bytes = block(index);
  for (std::size_t begin = 0; begin < bytes.size(); begin += part_bytes) {
    const auto part = bytes.subspan(begin, std::min(part_bytes, bytes.size() - begin));
    digester.update(part);
    largest = std::max(largest,
                       header().dtype == DType::u16
                           ? largest_of<std::uint16_t>(part, 0xffff)
                           : largest_of<std::uint32_t>(part, header().masks_targets ? token_of(~0U) : ~0U));
  }
  if (digester.value() != state_->digests[index])
    return fmt::format("is corrupt: block {} of its tokens does not match its digest", index);
  const std::uint32_t vocabulary = header().tokenizer.vocabulary_size;
  if (largest < vocabulary) return "";
  return fmt::format("is corrupt: token {} in block {} is outside the vocabulary of {} tokens", largest,
                     index, vocabulary);
}

void TokenShard::check_begins_split() const {
  const auto first = element_at<std::uint64_t>(state_->payload(state_->document_offsets), 0);
  if (first == 0) return;
  throw Error(
      ErrorKind::input,
      fmt::format("{}: /document_offsets begins with {}, expected 0 in the first shard of the {} split",
                  path().string(), first, name_of(header().split)),
      remedy);
}

std::string TokenShard::document_offsets_problem() const {
  const auto bytes = state_->payload(state_->document_offsets);
  if (digest(bytes) != state_->offsets_digest)
    return "/document_offsets is corrupt: it does not match its digest";
  bool ascends = true;
  std::uint64_t last = 0;
  for_each_element<std::uint64_t>(bytes, [&](std::size_t i, std::uint64_t offset) {
    ascends = ascends && (i == 0 || offset > last);
    last = offset;
  });
  if (!ascends) return "/document_offsets is not strictly increasing";
  if (last != header().tokens) return "/document_offsets does not end at the number of tokens";
  return "";
}

void TokenShard::verify_document_offsets() const {
  // Two threads may verify the offsets at the same time, with the same result.
  if (state_->offsets_verified.load(std::memory_order_relaxed)) return;
  if (const std::string problem = document_offsets_problem(); !problem.empty())
    throw Error(ErrorKind::input, fmt::format("{}: {}", path().string(), problem), remedy);
  state_->offsets_verified.store(true, std::memory_order_relaxed);
}

std::vector<std::uint64_t> TokenShard::document_starts(std::uint64_t begin, std::uint64_t end) const {
  check_tokens(begin, end);
  verify_document_offsets();
  const auto bytes = state_->payload(state_->document_offsets);
  const auto offset_of = [&](std::uint64_t document) { return element_at<std::uint64_t>(bytes, document); };
  const auto documents = std::views::iota(std::uint64_t{0}, header().documents);
  std::vector<std::uint64_t> starts;
  for (auto document = std::ranges::lower_bound(documents, begin, {}, offset_of);
       document != documents.end() && offset_of(*document) < end; ++document) {
    starts.push_back(offset_of(*document));
  }
  return starts;
}

void TokenShard::check_tokens(std::uint64_t begin, std::uint64_t end) const {
  DT_CHECK(begin <= end && end <= header().tokens, "tokens {} to {} are outside the {} tokens of {}", begin,
           end, header().tokens, path().string());
}

bool TokenShard::is_verified(std::size_t block) const {
  return state_->verified[block].load(std::memory_order_relaxed);
}

void TokenShard::will_need(std::uint64_t begin, std::uint64_t end) const {
  check_tokens(begin, end);
  if (begin == end) return;
  const std::size_t token_bytes = dtype_bytes(header().dtype);
  for (std::size_t i = begin * token_bytes / digest_block_bytes;
       i <= (end - 1) * token_bytes / digest_block_bytes; ++i) {
    if (!is_verified(i)) state_->file.will_need(block(i));
  }
  state_->file.will_need(
      state_->payload(state_->tokens).subspan(begin * token_bytes, (end - begin) * token_bytes));
}

void TokenShard::verify_blocks(std::uint64_t begin, std::uint64_t end) const {
  const std::size_t token_bytes = dtype_bytes(header().dtype);
  for (std::size_t i = begin * token_bytes / digest_block_bytes;
       i <= (end - 1) * token_bytes / digest_block_bytes; ++i) {
    // Two threads may verify the same block at the same time, with the same result.
    if (is_verified(i)) continue;
    if (const std::string problem = block_problem(i); !problem.empty())
      throw Error(ErrorKind::input, fmt::format("{} {}", path().string(), problem), remedy);
    state_->verified[i].store(true, std::memory_order_relaxed);
  }
}

/// Calls use(index, stored) for each token.
template <class Use>
void TokenShard::for_tokens(std::uint64_t begin, std::uint64_t count, Use use) const {
  check_tokens(begin, begin + count);
  if (count == 0) return;
  verify_blocks(begin, begin + count);
  const std::size_t token_bytes = dtype_bytes(header().dtype);
  for_each_token(header().dtype,
                 state_->payload(state_->tokens).subspan(begin * token_bytes, count * token_bytes), use);
}

void TokenShard::read(std::uint64_t begin, std::span<std::int32_t> out) const {
  for_tokens(begin, out.size(), [&](std::size_t i, std::uint32_t stored) {
    out[i] = static_cast<std::int32_t>(token_of(stored));
  });
}

void TokenShard::read_labels(std::uint64_t begin, std::span<std::int32_t> out) const {
  for_tokens(begin, out.size(),
             [&](std::size_t i, std::uint32_t stored) { out[i] = static_cast<std::int32_t>(stored); });
}

}  // namespace dt::data
