#include "tokenizer/encode/piece_cache.hpp"

#include <algorithm>

#include "base/numeric/digest.hpp"

namespace dt::tokenizer {

namespace {
constexpr std::size_t num_entries = 1 << 15;
constexpr std::size_t most_text_bytes = 2 << 20;
}  // namespace

LongPieceCache::LongPieceCache() : entries_(num_entries) {
  text_.reserve(most_text_bytes);
}

std::span<const Id> LongPieceCache::find(std::string_view piece) const {
  const std::uint64_t key = digest(piece);
  const Entry& entry = entries_[key % num_entries];
  const bool is_it = entry.digest == key && entry.num_bytes == piece.size() &&
                     std::equal(piece.begin(), piece.end(), text_.begin() + entry.text);
  return is_it ? std::span(ids_).subspan(entry.first_id, entry.num_ids) : std::span<const Id>();
}

void LongPieceCache::put(std::string_view piece, std::span<const Id> ids) {
  if (text_.size() + piece.size() > most_text_bytes) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    text_.clear();
    ids_.clear();
  }
  const std::uint64_t key = digest(piece);
  entries_[key % num_entries] = {
      key, static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(piece.size()),
      static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(ids.size())};
  text_.insert(text_.end(), piece.begin(), piece.end());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace dt::tokenizer
