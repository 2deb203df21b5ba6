#include "tokenizer/train/word_counts.hpp"

#include <utility>

#include "base/numeric/digest.hpp"

namespace dt::tokenizer {

namespace {

/// Limit on words in a thread's own table: roughly what a core's own cache holds.
constexpr std::size_t most_words = 1 << 15;
constexpr std::size_t most_text_bytes = 1 << 20;
constexpr int part_shift = 58;  // a digest's leading 6 bits choose its part

}  // namespace

void WordTable::add(std::string_view word, std::uint64_t digest, std::uint64_t count) {
  const auto hash = static_cast<std::uint32_t>(digest);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].count != 0 && (slots_[at].hash != hash || this->word(slots_[at]) != word))
    at = (at + 1) & mask;
  Slot& slot = slots_[at];
  slot.count += count;
  if (slot.count != count) return;
  slot.begin = text_.size();
  slot.size = static_cast<std::uint32_t>(word.size());
  slot.hash = hash;
  text_.insert(text_.end(), word.begin(), word.end());
  if (++size_ * 2 > slots_.size()) grow();
}

void WordTable::append_to(std::vector<CountedWord>& words) const {
  for (const Slot& slot : slots_) {
    if (slot.count != 0) words.push_back({word(slot), slot.count});
  }
}

void WordTable::clear() {
  slots_.assign(slots_.size(), {});
  text_.clear();
  size_ = 0;
}

void WordTable::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.count == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].count != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void WordCounter::count(std::string_view text) {
  clear();
  pre_tokenizer_.split(text, *this);
  flush();
}

void WordCounter::take(std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) table_.add(piece, digest(piece), 1);
  }
  if (table_.size() > most_words || table_.text_bytes() > most_text_bytes) merge_counts();
}

void WordCounter::merge_counts() {
  counts_.add(table_);
  table_.clear();
}

WordCounter& WordCounts::counter(const PreTokenizer& pre_tokenizer) {
  const std::lock_guard lock(mutex_);
  return *counters_.emplace_back(std::make_unique<WordCounter>(pre_tokenizer, *this));
}

void WordCounts::add(const WordTable& table) {
  std::vector<CountedWord> words;
  words.reserve(table.size());
  table.append_to(words);
  for (const CountedWord& word : words) {
    const std::uint64_t key = digest(word.bytes);
    Shard& part = shards_[key >> part_shift];
    const std::lock_guard lock(part.mutex);
    part.table.add(word.bytes, key, word.count);
  }
}

std::vector<CountedWord> WordCounts::words() {
  for (const auto& counter : counters_) counter->merge_counts();
  std::vector<CountedWord> words;
  for (const Shard& part : shards_) part.table.append_to(words);
  return words;
}

}  // namespace dt::tokenizer
