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
  Cursor(const SpoolPart& part, std::size_t part_index, const SpoolSegment& segment, std::uint64_t block)
      : part_(part), part_index_(part_index), segment_(segment), block_(block) {
    refill();
  }
  bool at_end() const { return next_ == entries_.size(); }
  const SpoolEntry& entry() const { return entries_[next_]; }
  const SpoolPart& part() const { return part_; }
  std::size_t part_index() const { return part_index_; }
  void advance() {
    if (++next_ == entries_.size()) refill();
  }
  bool comes_before(const Cursor& other) const {
    return std::tuple(entry().key, part_index_, entry().number) <
           std::tuple(other.entry().key, other.part_index_, other.entry().number);
  }

 private:
  void refill() {
    entries_ = part_.entries(segment_, taken_, std::min(block_, segment_.documents - taken_));
    taken_ += entries_.size();
    next_ = 0;
  }

  const SpoolPart& part_;
  std::size_t part_index_;
  SpoolSegment segment_;
  std::uint64_t block_;
  std::uint64_t taken_ = 0;
  std::vector<SpoolEntry> entries_;
  std::size_t next_ = 0;
};

std::vector<Cursor> cursors_of(const std::vector<SpoolPart>& parts) {
  std::uint64_t segments = 0;
  for (const SpoolPart& part : parts) segments += part.segments().size();
  const std::uint64_t block = std::max<std::uint64_t>(index_bytes / sizeof(SpoolEntry) / (segments + 1), 8);
  std::vector<Cursor> cursors;
  cursors.reserve(segments);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const SpoolSegment& segment : parts[i].segments()) cursors.emplace_back(parts[i], i, segment, block);
  }
  return cursors;
}

}  // namespace

DocumentSpool::DocumentSpool(const fs::path& folder, std::uint64_t num_ranges, std::size_t token_bytes)
    : token_bytes_(token_bytes) {
  for (std::uint64_t range = 0; range < num_ranges; ++range) {
    const RangeSummary& summary = parts_.emplace_back(spool_part_path(folder, range)).summary();
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
  visit_all([&](const SpoolPart&, const SpoolEntry& entry, std::uint64_t number) {
    finder.add(entry.digest, number);
  });
  is_duplicate_ = finder.find(num_documents_);
  visit_all([&](const SpoolPart&, const SpoolEntry& entry, std::uint64_t number) {
    if (!is_duplicate_[number]) return;
    ++filtered_.duplicates;
    --num_documents_;
    num_tokens_ -= entry.tokens;
  });
}

void DocumentSpool::visit(const std::function<void(const SpooledDocument&)>& document) const {
  visit_all([&](const SpoolPart& part, const SpoolEntry& entry, std::uint64_t number) {
    if (!is_duplicate_.empty() && is_duplicate_[number]) return;
    document({entry.tokens, entry.digest[1], {part.file(), entry.offset, entry.tokens * token_bytes_}});
  });
}

/// Merges the segments and calls `document` with each entry.
void DocumentSpool::visit_all(
    const std::function<void(const SpoolPart&, const SpoolEntry&, std::uint64_t number)>& document) const {
  std::vector<Cursor> cursors = cursors_of(parts_);
  const auto comes_later = [](const Cursor* a, const Cursor* b) { return b->comes_before(*a); };
  std::priority_queue<Cursor*, std::vector<Cursor*>, decltype(comes_later)> first(comes_later);
  for (Cursor& cursor : cursors) first.push(&cursor);
  while (!first.empty()) {
    Cursor* cursor = first.top();
    first.pop();
    document(cursor->part(), cursor->entry(), first_numbers_[cursor->part_index()] + cursor->entry().number);
    cursor->advance();
    if (!cursor->at_end()) first.push(cursor);
  }
}

}  // namespace dt::data
