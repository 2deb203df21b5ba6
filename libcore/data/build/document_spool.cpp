#include "data/build/document_spool.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "data/build/duplicates.hpp"

namespace dt::data {

namespace {

constexpr std::uint64_t index_bytes = std::uint64_t{16}
                                      << 20;  // memory for the index entries of all segments

/// Iterates over the entries of a segment.
class Cursor {
 public:
  Cursor(const SpoolFile& file, std::size_t file_index, const SpoolSegment& segment, std::uint64_t block)
      : file_(file), file_index_(file_index), segment_(segment), block_(block) {
    refill();
  }
  bool at_end() const { return next_ == entries_.size(); }
  const SpoolEntry& entry() const { return entries_[next_]; }
  const SpoolFile& file() const { return file_; }
  std::size_t file_index() const { return file_index_; }
  void advance() {
    if (++next_ == entries_.size()) refill();
  }
  bool comes_before(const Cursor& other) const {
    return std::tuple(entry().key, file_index_, entry().number) <
           std::tuple(other.entry().key, other.file_index_, other.entry().number);
  }

 private:
  void refill() {
    entries_ = file_.entries(segment_, taken_, std::min(block_, segment_.documents - taken_));
    taken_ += entries_.size();
    next_ = 0;
  }

  const SpoolFile& file_;
  std::size_t file_index_;
  SpoolSegment segment_;
  std::uint64_t block_;
  std::uint64_t taken_ = 0;
  std::vector<SpoolEntry> entries_;
  std::size_t next_ = 0;
};

std::vector<Cursor> cursors_of(const std::vector<SpoolFile>& files) {
  std::uint64_t segments = 0;
  for (const SpoolFile& file : files) segments += file.segments().size();
  const std::uint64_t block = std::max<std::uint64_t>(index_bytes / sizeof(SpoolEntry) / (segments + 1), 8);
  std::vector<Cursor> cursors;
  cursors.reserve(segments);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const SpoolSegment& segment : files[i].segments()) cursors.emplace_back(files[i], i, segment, block);
  }
  return cursors;
}

}  // namespace

DocumentSpool::DocumentSpool(const fs::path& folder, std::uint64_t num_ranges, std::size_t token_bytes)
    : token_bytes_(token_bytes) {
  for (std::uint64_t range = 0; range < num_ranges; ++range) {
    const RangeSummary& summary = files_.emplace_back(spool_file_path(folder, range)).summary();
    first_numbers_.push_back(num_documents_);
    num_documents_ += summary.documents;
    num_tokens_ += summary.tokens;
    has_targets_ = has_targets_ || summary.has_targets;
    issues_ += summary.issues;
    filtered_ += summary.filtered;
    roles_ += summary.roles;
  }
}

void DocumentSpool::deduplicate(const fs::path& folder) {
  DuplicateFinder finder(folder);
  visit_all([&](const SpoolFile&, const SpoolEntry& entry, std::uint64_t number) {
    finder.add(entry.digest, number);
  });
  is_duplicate_ = finder.find(num_documents_);
  visit_all([&](const SpoolFile&, const SpoolEntry& entry, std::uint64_t number) {
    if (!is_duplicate_[number]) return;
    ++filtered_.duplicates;
    --num_documents_;
    num_tokens_ -= entry.tokens;
  });
}

void DocumentSpool::visit(const std::function<void(const SpooledDocument&)>& document) const {
  visit_all([&](const SpoolFile& file, const SpoolEntry& entry, std::uint64_t number) {
    if (!is_duplicate_.empty() && is_duplicate_[number]) return;
    document({entry.tokens, entry.digest[1], {file.file(), entry.offset, entry.tokens * token_bytes_}});
  });
}

/// Merges the segments and calls `document` with each entry.
void DocumentSpool::visit_all(
    const std::function<void(const SpoolFile&, const SpoolEntry&, std::uint64_t number)>& document) const {
  std::vector<Cursor> cursors = cursors_of(files_);
  const auto comes_later = [](const Cursor* a, const Cursor* b) { return b->comes_before(*a); };
  std::priority_queue<Cursor*, std::vector<Cursor*>, decltype(comes_later)> first(comes_later);
  for (Cursor& cursor : cursors) first.push(&cursor);
  while (!first.empty()) {
    Cursor* cursor = first.top();
    first.pop();
    document(cursor->file(), cursor->entry(), first_numbers_[cursor->file_index()] + cursor->entry().number);
    cursor->advance();
    if (!cursor->at_end()) first.push(cursor);
  }
}

}  // namespace dt::data
