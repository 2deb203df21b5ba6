#include "tokenizer/encode/merge_table.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace dt::tokenizer {

void MergeTable::add(Id left, Id right, Merge merge) {
  if (find(left, right).rank == no_rank) ++size_;
  if (size_ * 4 > slots_.size() * 3) grow();
  put({key_of(left, right), merge.rank, merge.merged});
}

std::vector<std::pair<Id, Id>> MergeTable::pairs() const {
  std::vector<Slot> used;
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(used),
               [](const Slot& s) { return s.rank != no_rank; });
  std::sort(used.begin(), used.end(),
            [](const Slot& a, const Slot& b) { return std::tie(a.rank, a.key) < std::tie(b.rank, b.key); });
  std::vector<std::pair<Id, Id>> result;
  for (const Slot& slot : used)
    result.emplace_back(static_cast<Id>(slot.key >> 32), static_cast<Id>(slot.key));
  return result;
}

void MergeTable::put(const Slot& slot) {
  const std::uint64_t hash = hash_of(slot.key);
  slots_[slot_of(slot.key, hash)] = slot;
  const std::uint64_t bit = hash >> (shift_ - log2_bits_per_slot);
  filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
}

void MergeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  filter_.assign((slots_.size() << log2_bits_per_slot) / 64, 0);
  for (const Slot& slot : old) {
    if (slot.rank != no_rank) put(slot);
  }
}

}  // namespace dt::tokenizer
