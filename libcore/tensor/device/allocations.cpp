#include "tensor/device/allocations.hpp"

#include <iterator>
#include <memory>
#include <utility>

#include "base/error.hpp"

namespace dt {

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

void Allocations::add(std::byte* begin, std::size_t bytes) {
  const Lock lock(mutex_);
  memories_[begin] = {begin, bytes};
}

std::size_t Allocations::remove(std::byte* begin) {
  const Lock lock(mutex_);
  const std::span<std::byte> memory = memories_.at(begin);
  for (const auto& [watch, watcher] : watchers_) watcher(memory);
  memories_.erase(begin);
  return memory.size();
}

bool Allocations::has(const std::byte* address) const {
  const Lock lock(mutex_);
  return find(address) != memories_.end();
}

std::span<std::byte> Allocations::around(const std::byte* address) const {
  const Lock lock(mutex_);
  const auto memory = find(address);
  DT_CHECK(memory != memories_.end(), "the address is in no allocation of the device");
  return memory->second;
}

Allocations::Memories::const_iterator Allocations::find(const std::byte* address) const {
  const auto after = memories_.upper_bound(address);
  const bool is_known =
      after != memories_.begin() && address < std::to_address(std::prev(after)->second.end());
  return is_known ? std::prev(after) : memories_.end();
}

Allocations::Watch::Watch(Allocations& of, Watcher watcher) : of_(of) {
  const Lock lock(of.mutex_);
  of.watchers_.emplace(this, std::move(watcher));
}

Allocations::Watch::~Watch() {
  const Lock lock(of_.mutex_);
  of_.watchers_.erase(this);
}

}  // namespace dt
