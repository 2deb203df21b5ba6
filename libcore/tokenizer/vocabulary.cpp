#include "tokenizer/vocabulary.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace dt::tokenizer {

namespace {
constexpr std::size_t first_slots = 1024;
}

void Vocabulary::set_unfindable(Id id, std::string_view bytes) {
  DT_CHECK(id < max_vocabulary, "token {} is beyond {}", id, max_vocabulary);
  if (id >= size()) tokens_.resize(id + std::size_t{1});
  tokens_[id] = {std::string(bytes), true};
}

void Vocabulary::set(Id id, std::string_view bytes) {
  set_unfindable(id, bytes);
  if ((num_findable_ + 1) * 2 > slots_.size()) grow();
  const std::size_t slot = slot_of(bytes);
  if (slots_[slot] != no_id) return;
  slots_[slot] = id;
  ++num_findable_;
}

Id Vocabulary::find(std::string_view bytes) const {
  return slots_.empty() ? no_id : slots_[slot_of(bytes)];
}

/// The slot of the token that is these bytes, or the empty one where it would go.
std::size_t Vocabulary::slot_of(std::string_view bytes) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = digest(bytes) & mask;
  while (slots_[slot] != no_id && tokens_[slots_[slot]].bytes != bytes) slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::grow() {
  std::vector<Id> old(std::max(first_slots, slots_.size() * 2), no_id);
  old.swap(slots_);
  for (const Id id : old) {
    if (id != no_id) slots_[slot_of(tokens_[id].bytes)] = id;
  }
}

}  // namespace dt::tokenizer
