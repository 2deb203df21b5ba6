#include "data/build/spool_writer.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/random.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

namespace {

constexpr std::size_t max_in_flight = 2;
constexpr int range_shift = 32;

template <class Element>
void append_as(std::span<const std::uint32_t> ids, std::vector<std::byte>& bytes) {
  const std::size_t old_size = bytes.size();
  bytes.resize(old_size + ids.size() * sizeof(Element));
  auto* out = reinterpret_cast<Element*>(bytes.data() + old_size);
  for (std::size_t i = 0; i < ids.size(); ++i) out[i] = static_cast<Element>(ids[i]);
}

/// Sorts the entries by key, and the tokens into the order of the entries.
void sort_by_key(std::span<const std::byte> tokens, std::vector<SpoolEntry>& entries, std::size_t token_bytes,
                 std::vector<std::byte>& sorted) {
  std::sort(entries.begin(), entries.end(), [](const SpoolEntry& a, const SpoolEntry& b) {
    return std::tie(a.key, a.number) < std::tie(b.key, b.number);
  });
  sorted.clear();
  sorted.reserve(tokens.size());
  for (SpoolEntry& entry : entries) {
    const auto document = tokens.subspan(entry.offset, entry.tokens * token_bytes);
    entry.offset = sorted.size();
    sorted.insert(sorted.end(), document.begin(), document.end());
  }
}

}  // namespace

SpoolWriter::SpoolWriter(fs::path folder, SpoolOptions options, int num_threads)
    : folder_(std::move(folder)),
      options_(options),
      token_bytes_(dtype_bytes(options.dtype)),
      has_thread_(num_threads > 1),
      pool_(has_thread_ ? 1 : 0) {
  DT_CHECK(options.dtype == DType::u16 || options.dtype == DType::u32,
           "the spool cannot store tokens of type {}", dtype_name(options.dtype));
}

void SpoolWriter::begin_range(std::uint64_t range) {
  DT_CHECK(!file_, "range {} has not ended", range_);
  range_ = range;
  file_ = std::make_shared<SpoolFileWriter>(spool_file_path(folder_, range));
  file_bytes_ = 0;
  summary_ = {};
}

void SpoolWriter::append(std::span<const std::uint32_t> ids) {
  if (ids.empty()) return;
  if (document_tokens_ == 0) document_begin_ = segment_.tokens.size();
  document_tokens_ += ids.size();
  digester_.update(std::as_bytes(ids));
  document_has_targets_ = document_has_targets_ || std::ranges::any_of(ids, is_target);
  if (segment_.tokens.capacity() == 0) {
    segment_.tokens = spare_buffer();
    segment_.tokens.reserve(options_.segment_bytes);
  }
  if (token_bytes_ == sizeof(std::uint16_t)) {
    append_as<std::uint16_t>(ids, segment_.tokens);
  } else {
    append_as<std::uint32_t>(ids, segment_.tokens);
  }
  if (segment_.tokens.size() >= options_.segment_bytes) make_room();
}

/// Writes the documents before the present one. If there are none, writes the tokens of the present
/// one so far.
void SpoolWriter::make_room() {
  if (segment_.entries.empty()) return stream_document();
  Buffer begun = spare_buffer();
  begun.assign(segment_.tokens.begin() + static_cast<std::ptrdiff_t>(document_begin_), segment_.tokens.end());
  segment_.tokens.resize(document_begin_);
  write_segment();
  segment_.tokens = std::move(begun);
  document_begin_ = 0;
}

void SpoolWriter::stream_document() {
  if (!streamed_offset_) streamed_offset_ = file_bytes_;
  file_bytes_ += segment_.tokens.size();
  write_behind([file = file_, tokens = std::exchange(segment_.tokens, {})]() mutable {
    file->write_tokens(tokens);
    return std::move(tokens);
  });
}

void SpoolWriter::end_document() {
  if (document_tokens_ == 0) return;
  const std::uint64_t number = summary_.documents++;
  summary_.tokens += document_tokens_;
  summary_.has_targets = summary_.has_targets || document_has_targets_;
  const std::uint64_t place = range_ << range_shift | number;
  const std::uint64_t key =
      options_.shuffle_seed ? RandomField(*options_.shuffle_seed, "documents").bits(place) : place;
  const SpoolEntry entry{key, number, document_begin_, document_tokens_, digester_.value()};
  if (streamed_offset_) {
    end_streamed(entry);
  } else {
    segment_.entries.push_back(entry);
  }
  forget_document();
  if (segment_.entries.size() >= options_.segment_documents) write_segment();
}

/// Ends a streamed document. Its entry forms its own segment.
void SpoolWriter::end_streamed(SpoolEntry entry) {
  stream_document();
  entry.offset = *streamed_offset_;
  file_bytes_ += sizeof entry;
  write_behind([file = file_, entry] {
    file->write_entries(std::span(&entry, 1));
    return Buffer();
  });
}

void SpoolWriter::drop_document() {
  if (document_tokens_ == 0) return;
  segment_.tokens.resize(streamed_offset_ ? 0 : document_begin_);
  forget_document();
}

void SpoolWriter::forget_document() {
  document_tokens_ = 0;
  document_has_targets_ = false;
  streamed_offset_.reset();
  digester_.reset();
}

void SpoolWriter::write_segment() {
  const std::uint64_t offset = file_bytes_;
  file_bytes_ += segment_.tokens.size() + segment_.entries.size() * sizeof(SpoolEntry);
  const bool sorts = options_.shuffle_seed.has_value();
  write_behind([this, file = file_, segment = std::exchange(segment_, {}), offset, sorts]() mutable {
    if (sorts) sort_by_key(segment.tokens, segment.entries, token_bytes_, sorted_);
    for (SpoolEntry& entry : segment.entries) entry.offset += offset;
    file->write_tokens(sorts ? sorted_ : segment.tokens);
    file->write_entries(segment.entries);
    return std::move(segment.tokens);
  });
}

void SpoolWriter::end_range(const InputIssues& found, const FilteredDocuments& left_out,
                            const SeenRoles& roles) {
  DT_CHECK(file_ && document_tokens_ == 0, "a document of range {} has not ended", range_);
  if (!segment_.entries.empty()) write_segment();
  summary_.issues = found;
  summary_.filtered = left_out;
  summary_.roles = roles;
  write_behind([file = std::exchange(file_, nullptr), summary = summary_] {
    file->finish(summary);
    return Buffer();
  });
}

void SpoolWriter::finish() {
  while (!in_flight_.empty()) finish_first();
}

void SpoolWriter::write_behind(std::function<Buffer()> task) {
  if (in_flight_.size() == max_in_flight) finish_first();
  in_flight_.push_back(pool_.submit(std::move(task)));
}

void SpoolWriter::finish_first() {
  // A caller that helped the thread would write out of order.
  Buffer buffer = has_thread_ ? in_flight_.front().get() : pool_.get(in_flight_.front());
  in_flight_.pop_front();
  if (buffer.capacity() == 0) return;
  buffer.clear();
  spare_buffers_.push_back(std::move(buffer));
}

SpoolWriter::Buffer SpoolWriter::spare_buffer() {
  if (spare_buffers_.empty()) return {};
  Buffer buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  return buffer;
}

}  // namespace dt::data
