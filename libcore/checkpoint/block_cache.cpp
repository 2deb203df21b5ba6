#include "checkpoint/block_cache.hpp"

#include <algorithm>

namespace dt::checkpoint {

BlockCache::Block BlockCache::get(const Key& key, std::size_t count,
                                  const std::function<void(std::span<std::byte>)>& load) {
  if (const Block found = find(key)) return found;
  const auto block = std::make_shared<std::vector<std::byte>>(count);
  load(*block);
  insert(key, block);
  return block;
}

BlockCache::Block BlockCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->block;
}

void BlockCache::insert(const Key& key, const Block& block) {
  const std::lock_guard lock(mutex_);
  entries_.push_front({key, block});
  bytes_ += block->size();
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().block->size();
    entries_.pop_back();
  }
}

}  // namespace dt::checkpoint
