#include "data/duplicates.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "base/error.hpp"
#include "data/spill_file.hpp"

namespace dt::data {

namespace {

constexpr std::size_t num_parts = 256;
constexpr int part_shift = 56;  // a digest's leading 8 bits are its part
constexpr std::size_t buffer_entries = 1024;

}  // namespace

DuplicateFinder::DuplicateFinder(fs::path folder) : folder_(std::move(folder)), buffers_(num_parts) {}

fs::path DuplicateFinder::path(std::size_t part) const {
  return folder_ / fmt::format("{}.digests", part);
}

void DuplicateFinder::add(const Digester128::Value& digest, std::uint64_t number) {
  const std::size_t part = digest[0] >> part_shift;
  buffers_[part].push_back({digest, number});
  if (buffers_[part].size() >= buffer_entries) append_to_file(path(part), buffers_[part]);
}

std::vector<DuplicateFinder::Entry> DuplicateFinder::entries_of(std::size_t part) const {
  std::error_code missing;
  if (!fs::exists(path(part), missing)) return buffers_[part];
  File file = File::open_read(path(part));
  std::vector<Entry> entries(file.size() / sizeof(Entry));
  file.read_at(0, std::as_writable_bytes(std::span(entries)));
  entries.insert(entries.end(), buffers_[part].begin(), buffers_[part].end());
  return entries;
}

std::vector<bool> DuplicateFinder::find(std::uint64_t num_documents) {
  std::vector<bool> is_duplicate(num_documents);
  for (std::size_t part = 0; part < num_parts; ++part) {
    std::vector<Entry> entries = entries_of(part);
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.digest, a.number) < std::tie(b.digest, b.number);
    });
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].digest == entries[i - 1].digest) is_duplicate[entries[i].number] = true;
    }
    buffers_[part] = {};
    std::error_code ignored;  // the caller removes the folder anyway
    fs::remove(path(part), ignored);
  }
  return is_duplicate;
}

}  // namespace dt::data
