#include "tokenizer/encode/vocabulary.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"

namespace dt::tokenizer {

namespace {
constexpr std::size_t first_slots = 1024;

std::uint32_t tag_of(std::uint64_t digest) {
  return static_cast<std::uint32_t>(digest >> 32);
}
}  // namespace

void Vocabulary::set_unfindable(Id id, std::string_view bytes) {
  DT_CHECK(id < max_vocabulary, "token id {} is not below {}", id, max_vocabulary);
  if (id >= size()) tokens_.resize(id + std::size_t{1});
  tokens_[id] = {std::string(bytes), true};
}

void Vocabulary::set(Id id, std::string_view bytes) {
  set_unfindable(id, bytes);
  if ((findable_.size() + 1) * 2 > slots_.size()) grow();
  const std::uint64_t key = digest(bytes);
  Slot& slot = slots_[slot_of(bytes, key)];
  if (slot.index != none) return;
  slot = {static_cast<std::uint32_t>(findable_.size()), tag_of(key)};
  findable_.push_back({std::string(bytes), id});
}

Id Vocabulary::find(std::string_view bytes) const {
  if (slots_.empty()) return no_id;
  const std::uint32_t index = slots_[slot_of(bytes, digest(bytes))].index;
  return index == none ? no_id : findable_[index].id;
}

/// Returns the slot of the token with these bytes, or the empty slot where the token would go.
std::size_t Vocabulary::slot_of(std::string_view bytes, std::uint64_t digest) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = digest & mask;
  const auto is_other = [&](const Slot& s) {
    return s.index != none && (s.tag != tag_of(digest) || findable_[s.index].bytes != bytes);
  };
  while (is_other(slots_[slot])) slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max(first_slots, slots_.size() * 2));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.index == none) continue;
    const std::string_view bytes = findable_[slot.index].bytes;
    slots_[slot_of(bytes, digest(bytes))] = slot;
  }
}

}  // namespace dt::tokenizer
