#pragma once
// A cache of the most recently read blocks of a checkpoint's pieces. Several requests may need the
// same block: consecutive reads of a tensor's parts, or rows of adjacent tensor-parallel shards.
// The cache reads and digests it once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace dt::checkpoint {

class BlockCache {
 public:
  using Block = std::shared_ptr<const std::vector<std::byte>>;
  /// A block's identity: the address of its piece in the manifest, and its number in the payload.
  struct Key {
    const void* piece = nullptr;
    std::uint64_t block = 0;
    bool operator==(const Key&) const = default;
  };

  /// Creates a cache that holds at most `max_bytes`.
  explicit BlockCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Returns the block of `count` bytes. Calls `load` to fill it if it is not cached.
  /// Thread safety: any thread. Threads that request a missing block at the same time each load it.
  Block get(const Key& key, std::size_t count, const std::function<void(std::span<std::byte>)>& load);

 private:
  struct Entry {
    Key key;
    Block block;
  };
  Block find(const Key& key);
  void insert(const Key& key, const Block& block);

  std::mutex mutex_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace dt::checkpoint
