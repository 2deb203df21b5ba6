#include "tokenizer/merge_table.hpp"

namespace dt::tokenizer {

void MergeTable::add(Id left, Id right, Merge merge) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  Slot& slot = slots_[slot_of(key_of(left, right))];
  if (slot.rank == no_rank) ++size_;
  slot = {key_of(left, right), merge.rank, merge.merged};
}

void MergeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  for (const Slot& slot : old) {
    if (slot.rank != no_rank) slots_[slot_of(slot.key)] = slot;
  }
}

}  // namespace dt::tokenizer
