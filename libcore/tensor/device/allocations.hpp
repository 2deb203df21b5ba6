#pragma once
// Tracks device memory.

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <span>

namespace dt {

/// The device allocations that are not released yet. Callers learn the whole allocation in which a
/// tensor lies, and when it is freed.
/// Thread safety: safe from several threads.
class Allocations {
 public:
  /// A function that the releasing thread calls before memory is freed. It must not throw.
  using Watcher = std::function<void(std::span<std::byte> memory)>;

  void add(std::byte* begin, std::size_t bytes);
  /// Calls the watchers, removes the allocation and returns its bytes. Call before the same address
  /// can be allocated again.
  std::size_t remove(std::byte* begin);
  bool has(const std::byte* address) const;
  /// Returns the allocation in which `address` lies.
  /// Errors: internal, there is none.
  std::span<std::byte> around(const std::byte* address) const;

  /// Registers a watcher for the object's lifetime.
  class Watch {
   public:
    Watch(Allocations& of, Watcher watcher);
    Watch(const Watch&) = delete;
    ~Watch();

   private:
    Allocations& of_;
  };

 private:
  using Memories = std::map<const std::byte*, std::span<std::byte>>;
  /// Returns the allocation in which an address lies, or memories_.end().
  Memories::const_iterator find(const std::byte* address) const;

  mutable std::recursive_mutex mutex_;
  Memories memories_;  // by first byte
  std::map<const Watch*, Watcher> watchers_;
};

}  // namespace dt
