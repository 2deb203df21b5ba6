#include "data/document_spool.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <tuple>

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/spill_file.hpp"

namespace dt::data {

namespace {

constexpr std::size_t num_shuffle_buckets = 256;
constexpr int bucket_shift = 56;  // a key's leading 8 bits are its bucket
constexpr std::size_t index_buffer_entries = 1024;
constexpr std::size_t part_bytes = std::size_t{1} << 20;

template <class Element>
void append_as(std::span<const std::uint32_t> ids, std::vector<std::byte>& bytes) {
  const std::size_t old_size = bytes.size();
  bytes.resize(old_size + ids.size() * sizeof(Element));
  auto* out = reinterpret_cast<Element*>(bytes.data() + old_size);
  for (std::size_t i = 0; i < ids.size(); ++i) out[i] = static_cast<Element>(ids[i]);
}

}  // namespace

DocumentSpool::DocumentSpool(fs::path folder, SpoolOptions options)
    : folder_(std::move(folder)), options_(options), token_bytes_(dtype_bytes(options.dtype)) {
  DT_CHECK(options.dtype == DType::u16 || options.dtype == DType::u32, "tokens of type {}",
           dtype_name(options.dtype));
  DT_CHECK(options.buffer_bytes >= 4 && options.buffer_bytes % 4 == 0, "a buffer of {} bytes",
           options.buffer_bytes);
  if (options_.shuffle_seed) buckets_.resize(num_shuffle_buckets);
  if (options.deduplicates) duplicates_.emplace(folder_);
}

fs::path DocumentSpool::tokens_path(std::size_t bucket) const {
  return folder_ / fmt::format("{}.tokens", bucket);
}

fs::path DocumentSpool::index_path(std::size_t bucket) const {
  return folder_ / fmt::format("{}.index", bucket);
}

void DocumentSpool::begin_document() {
  if (options_.shuffle_seed) {
    key_ = RandomField(*options_.shuffle_seed, "documents").bits(num_documents_);
    bucket_ = key_ >> bucket_shift;
    return;
  }
  key_ = num_documents_;
  if (buckets_.empty() || buckets_.back().tokens >= options_.max_bucket_tokens ||
      buckets_.back().documents >= options_.max_sorted_documents) {
    flush();
    buckets_.emplace_back();
  }
  bucket_ = buckets_.size() - 1;
}

void DocumentSpool::append(std::span<const std::uint32_t> ids) {
  if (ids.empty()) return;
  if (document_tokens_ == 0) begin_document();
  document_tokens_ += ids.size();
  digester_.update(std::as_bytes(ids));
  std::vector<std::byte>& buffer = buckets_[bucket_].token_buffer;
  buffer.reserve(options_.buffer_bytes);
  while (!ids.empty()) {
    const std::size_t count = std::min(ids.size(), (options_.buffer_bytes - buffer.size()) / token_bytes_);
    if (token_bytes_ == sizeof(std::uint16_t)) {
      append_as<std::uint16_t>(ids.first(count), buffer);
    } else {
      append_as<std::uint32_t>(ids.first(count), buffer);
    }
    ids = ids.subspan(count);
    if (buffer.size() == options_.buffer_bytes) append_to_file(tokens_path(bucket_), buffer);
  }
}

void DocumentSpool::end_document() {
  if (document_tokens_ == 0) return;
  const Digester128::Value digest = digester_.value();
  Bucket& bucket = buckets_[bucket_];
  bucket.index_buffer.push_back({key_, bucket.tokens, {num_documents_, document_tokens_, digest[1]}});
  if (bucket.index_buffer.size() >= index_buffer_entries)
    append_to_file(index_path(bucket_), bucket.index_buffer);
  ++bucket.documents;
  ++num_documents_;
  num_tokens_ += document_tokens_;
  if (duplicates_) duplicates_->add(digest);
  forget_document();
}

void DocumentSpool::drop_document() {
  if (document_tokens_ > 0) forget_document();
}

/// Its tokens stay where they are, whether the index names them or not.
void DocumentSpool::forget_document() {
  buckets_[bucket_].tokens += document_tokens_;
  document_tokens_ = 0;
  digester_.reset();
}

void DocumentSpool::finish() {
  DT_CHECK(document_tokens_ == 0, "a document has not ended");
  flush();
  if (!duplicates_) return;
  is_duplicate_ = duplicates_->find();
  const std::uint64_t added = num_documents_;
  num_documents_ = num_tokens_ = 0;
  visit([&](const SpooledDocument& document) {
    ++num_documents_;
    num_tokens_ += document.tokens;
  });
  num_duplicates_ = added - num_documents_;
}

void DocumentSpool::flush() {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    append_to_file(tokens_path(i), buckets_[i].token_buffer);
    append_to_file(index_path(i), buckets_[i].index_buffer);
    buckets_[i].token_buffer = {};
    buckets_[i].index_buffer = {};
  }
}

std::vector<DocumentSpool::Entry> DocumentSpool::entries_between(std::size_t bucket, std::uint64_t first_key,
                                                                 std::uint64_t last_key) const {
  std::vector<Entry> found;
  std::vector<Entry> block(part_bytes / sizeof(Entry));
  File file = File::open_read(index_path(bucket));
  for (std::uint64_t rest = buckets_[bucket].documents; rest > 0; rest -= block.size()) {
    block.resize(std::min<std::uint64_t>(block.size(), rest));
    const std::size_t count = file.read(std::as_writable_bytes(std::span(block)));
    DT_CHECK(count == block.size() * sizeof(Entry), "{} is shorter than what was written",
             file.path().string());
    std::copy_if(block.begin(), block.end(), std::back_inserter(found),
                 [&](const Entry& entry) { return entry.key >= first_key && entry.key <= last_key; });
  }
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.key, a.offset) < std::tie(b.key, b.offset);
  });
  return found;
}

void DocumentSpool::visit_bucket(std::size_t bucket,
                                 const std::function<void(const Entry&)>& document) const {
  const std::uint64_t documents = buckets_[bucket].documents;
  if (documents == 0) return;
  const std::uint64_t passes = (documents - 1) / options_.max_sorted_documents + 1;
  // The keys of a bucket are spread evenly over its range, so equal ranges hold about equally many.
  const std::uint64_t first = options_.shuffle_seed ? std::uint64_t{bucket} << bucket_shift : 0;
  const std::uint64_t width = (std::uint64_t{1} << bucket_shift) / passes;
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const std::uint64_t from = first + pass * width;
    const std::uint64_t to =
        pass + 1 < passes ? from + width - 1 : first + ((std::uint64_t{1} << bucket_shift) - 1);
    for (const Entry& entry : entries_between(bucket, from, to)) {
      if (is_duplicate_.empty() || !is_duplicate_[entry.document.number]) document(entry);
    }
  }
}

void DocumentSpool::visit(const std::function<void(const SpooledDocument&)>& document) const {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    visit_bucket(bucket, [&](const Entry& entry) { document(entry.document); });
  }
}

void DocumentSpool::drain(const std::function<void(const SpooledDocument&)>& document,
                          const std::function<void(const TokenRun&)>& tokens) {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket].documents == 0) continue;
    const auto file = std::make_shared<const File>(File::open_read(tokens_path(bucket)));
    visit_bucket(bucket, [&](const Entry& entry) {
      document(entry.document);
      tokens({file, entry.offset * token_bytes_, entry.document.tokens * token_bytes_});
    });
    std::error_code ignored;  // the caller removes the folder anyway
    fs::remove(tokens_path(bucket), ignored);
    fs::remove(index_path(bucket), ignored);
  }
}

}  // namespace dt::data
