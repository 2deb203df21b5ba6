#pragma once
// Which memory of devices there is, for whoever must know the whole of what a tensor lies in, and when it
// goes.

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <span>

namespace dt {

/// Thread-safe.
class Allocations {
 public:
  /// Called before memory is given back, by whoever does that; must not throw.
  using Watcher = std::function<void(std::span<std::byte> memory)>;

  void add(std::byte* begin, std::size_t bytes);
  /// Tells the watchers, and forgets it: before another may be given the same address. How many bytes it had.
  std::size_t remove(std::byte* begin);
  bool has(const std::byte* address) const;
  /// What `address` lies in. Error{internal}: nothing.
  std::span<std::byte> around(const std::byte* address) const;

  /// For as long as it lives somebody is told.
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
  /// What it lies in, or the end.
  Memories::const_iterator find(const std::byte* address) const;

  mutable std::recursive_mutex mutex_;
  Memories memories_;  // by where they begin
  std::map<const Watch*, Watcher> watchers_;
};

}  // namespace dt
