#include "data/build/document_spool.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/numeric/random.hpp"

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

namespace {

constexpr std::size_t num_buckets = 256;
constexpr int bucket_shift = 56;  // the leading 8 bits of a digest select its bucket
constexpr std::size_t buffer_entries = 1024;
constexpr std::size_t min_block_entries = std::size_t{1} << 16;

/// Appends the elements to the file and empties the vector. The file is open only meanwhile, so that
/// the limit of open files does not matter.
/// Errors: environment.
template <class Element>
void append_to_file(const fs::path& path, std::vector<Element>& elements) {
  if (elements.empty()) return;
  File file = File::open_append(path);
  file.write(std::as_bytes(std::span(elements)));
  file.close();
  elements.clear();
}

}  // namespace

DuplicateFinder::DuplicateFinder(fs::path folder) : folder_(std::move(folder)), buffers_(num_buckets) {}

fs::path DuplicateFinder::path(std::size_t bucket) const {
  return folder_ / fmt::format("{}.digests", bucket);
}

void DuplicateFinder::add(const Digester128::Value& digest, std::uint64_t number) {
  const std::size_t bucket = digest[0] >> bucket_shift;
  buffers_[bucket].push_back({digest, number});
  if (buffers_[bucket].size() >= buffer_entries) append_to_file(path(bucket), buffers_[bucket]);
}

/// Keeps the entry with the lowest number of each digest, and marks the others.
void DuplicateFinder::mark_and_leave_out(std::vector<Entry>& entries, std::vector<bool>& is_duplicate) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.digest, a.number) < std::tie(b.digest, b.number);
  });
  std::size_t kept = 0;
  for (const Entry& entry : entries) {
    if (kept > 0 && entries[kept - 1].digest == entry.digest) {
      is_duplicate[entry.number] = true;
    } else {
      entries[kept++] = entry;
    }
  }
  entries.resize(kept);
}

void DuplicateFinder::find_in(std::size_t bucket, std::vector<bool>& is_duplicate) {
  std::vector<Entry> entries = std::exchange(buffers_[bucket], {});
  mark_and_leave_out(entries, is_duplicate);
  if (!path_exists(path(bucket))) return;
  File file = File::open_read(path(bucket));
  std::vector<Entry> block;
  for (std::uint64_t rest = file.size() / sizeof(Entry); rest > 0; rest -= block.size()) {
    // Reads twice as many entries as are known to differ. Equal entries then take no memory, and
    // each entry is sorted only a few times.
    block.resize(std::min<std::uint64_t>(std::max(entries.size(), min_block_entries), rest));
    const std::size_t count = file.read(std::as_writable_bytes(std::span(block)));
    DT_CHECK(count == block.size() * sizeof(Entry), "{} is shorter than what was written",
             path(bucket).string());
    entries.insert(entries.end(), block.begin(), block.end());
    mark_and_leave_out(entries, is_duplicate);
  }
}

std::vector<bool> DuplicateFinder::find(std::uint64_t num_documents) {
  std::vector<bool> is_duplicate(num_documents);
  for (std::size_t bucket = 0; bucket < num_buckets; ++bucket) {
    find_in(bucket, is_duplicate);
    std::error_code ignored;  // the caller removes the folder anyway
    fs::remove(path(bucket), ignored);
  }
  return is_duplicate;
}

SplitRule::SplitRule(SplitBy by, double val_fraction, std::uint64_t seed, const DocumentSpool& spool)
    : by_(by), seed_(seed), train_documents_(spool.num_documents()) {
  if (val_fraction <= 0) return;
  const std::uint64_t documents = spool.num_documents();
  if (by == SplitBy::digest) {
    first_train_digest_ = static_cast<std::uint64_t>(std::ldexp(val_fraction, 64));
  } else if (documents == 1) {
    const std::uint64_t tokens = spool.num_tokens();
    const auto tail = static_cast<std::uint64_t>(std::ceil(val_fraction * static_cast<double>(tokens)));
    tail_tokens_ = std::min(tail, tokens - 1);
  } else {
    const auto rounded =
        static_cast<std::uint64_t>(std::llround(val_fraction * static_cast<double>(documents)));
    train_documents_ = documents - std::clamp<std::uint64_t>(rounded, 1, documents - 1);
  }
}

Split SplitRule::next(const SpooledDocument& document) {
  const bool validates = by_ == SplitBy::order
                             ? num_asked_++ >= train_documents_
                             : RandomField(seed_, "validation").bits(document.digest) < first_train_digest_;
  return validates ? Split::validation : Split::train;
}

}  // namespace dt::data
