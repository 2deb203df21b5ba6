#pragma once
// Caches what a library makes for one thread alone.

#include <list>
#include <map>
#include <mutex>

namespace dt::kernels::cuda {

/// Returns the value that this thread has for a key. make() makes it when the thread first asks. The
/// value stays when the thread ends: at the program's end the driver may be gone first. Each place of
/// a call has a cache of its own.
template <class Key, class Value, class Make>
Value& thread_cached(const Key& key, const Make& make) {
  using Known = std::map<Key, Value>;
  static std::mutex mutex;
  static auto& of_threads = *new std::list<Known>;
  thread_local Known& own = [&]() -> Known& {
    const std::lock_guard lock(mutex);
    return of_threads.emplace_back();
  }();
  const auto entry = own.find(key);
  return entry != own.end() ? entry->second : own.emplace(key, make()).first->second;
}

}  // namespace dt::kernels::cuda
