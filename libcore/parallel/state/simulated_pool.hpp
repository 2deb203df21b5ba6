#pragma once
// Models a pool of buffers by sizes alone.

#include <cstddef>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace dt::parallel {

/// The sizes of a pool's spare buffers. It chooses as the pool chooses: the smallest that is large enough.
class SimulatedPool {
 public:
  /// `largest`: returns the size of the largest spare buffer that the pool hands out for so many bytes.
  SimulatedPool(const std::vector<std::size_t>& spare, std::function<std::size_t(std::size_t bytes)> largest)
      : spare_(spare.begin(), spare.end()), largest_(std::move(largest)) {}

  /// Returns the size of the buffer that the pool hands out. A buffer that the pool must allocate counts as
  /// missing.
  std::size_t acquire(std::size_t bytes);
  /// Returns a buffer of that size to the pool, and sets `bytes` to 0.
  void release(std::size_t& bytes);
  const std::vector<std::size_t>& missing() const { return missing_; }

 private:
  std::multiset<std::size_t> spare_;
  std::function<std::size_t(std::size_t bytes)> largest_;
  std::vector<std::size_t> missing_;
};

}  // namespace dt::parallel
