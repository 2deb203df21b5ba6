#include "tokenizer/train/pair_index.hpp"

#include <utility>

#include "base/error.hpp"

namespace dt::tokenizer {

std::uint32_t PairNumbers::add(TokenPair pair, std::size_t slot) {
  const std::uint32_t number = size_++;
  slots_[slot] = {pair, number};
  if (size_ * std::size_t{2} <= slots_.size()) return number;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  for (const Slot& s : old) {
    if (s.number != none) slots_[slot_of(s.pair)] = s;
  }
  return number;
}

void PairIndex::add(TokenPair pair, std::int64_t count, std::vector<Position> positions) {
  const std::uint32_t number = numbers_.find_or_add(pair);
  DT_CHECK(number == entries_.size(), "the pair {}, {} is there already", pair.left, pair.right);
  candidates_.push({count, pair, number});
  entries_.push_back({pair, count, std::move(positions)});
}

void PairIndex::subtract(TokenPair pair, std::int64_t count) {
  const std::uint32_t number = numbers_.find(pair);
  if (number != PairNumbers::none) entries_[number].count -= count;
}

std::optional<PlacedPair> PairIndex::take_first(std::int64_t least) {
  while (!candidates_.empty() && candidates_.top().count >= least) {
    Candidate first = candidates_.top();
    candidates_.pop();
    PlacedPair& entry = entries_[first.number];
    if (first.count == entry.count) return std::exchange(entry, {first.pair, 0, {}});
    first.count = entry.count;
    if (first.count >= least) candidates_.push(first);
  }
  return std::nullopt;
}

}  // namespace dt::tokenizer
