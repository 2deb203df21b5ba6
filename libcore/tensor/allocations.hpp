#pragma once
// Tracks the memory of devices, for callers that must know the whole of what a tensor lies in, and when
// it goes.

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <span>

namespace dt {

/// The allocations of devices that are not released yet.
/// Thread safety: safe from several threads.
class Allocations {
 public:
  /// A function that is called before memory is given back, by the thread that gives it back. It must
  /// not throw.
  using Watcher = std::function<void(std::span<std::byte> memory)>;

  void add(std::byte* begin, std::size_t bytes);
  /// Tells the watchers and forgets the memory. Call before the same address may be allocated again.
  /// Returns the bytes that it had.
  std::size_t remove(std::byte* begin);
  bool has(const std::byte* address) const;
  /// Returns the allocation in which `address` lies.
  /// Errors: internal, there is none.
  std::span<std::byte> around(const std::byte* address) const;

  /// Has a watcher told for as long as the object lives.
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
  /// Returns the allocation in which an address lies, or the end.
  Memories::const_iterator find(const std::byte* address) const;

  mutable std::recursive_mutex mutex_;
  Memories memories_;  // by their beginnings
  std::map<const Watch*, Watcher> watchers_;
};

}  // namespace dt
