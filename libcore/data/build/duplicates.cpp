#include "data/build/duplicates.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/io/files.hpp"

namespace dt::data {

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
    DT_CHECK(count == block.size() * sizeof(Entry), "{} is shorter than the data written to it",
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

}  // namespace dt::data
