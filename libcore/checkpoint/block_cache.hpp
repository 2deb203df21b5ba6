#pragma once
// The blocks of a checkpoint's pieces that were read last. What several requests need of one block (parts of
// a tensor asked for one after the other, rows of tensor-parallel slices side by side) is read and digested
// once.

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
  /// Of a piece of the manifest, by its address there, and the block's number in its payload.
  struct Key {
    const void* piece = nullptr;
    std::uint64_t block = 0;
    bool operator==(const Key&) const = default;
  };

  /// Holds at most so many bytes.
  explicit BlockCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// The block, of `count` bytes: filled by `load` where it is not here. For any thread; threads that ask at
  /// once for what is not here each load it.
  Block get(const Key& key, std::size_t count, const std::function<void(std::span<std::byte>)>& load);

 private:
  struct Entry {
    Key key;
    Block block;
  };
  Block find(const Key& key);
  void keep(const Key& key, const Block& block);

  std::mutex mutex_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // the latest used first
};

}  // namespace dt::checkpoint
