#pragma once
// Calls that wait for a device or a server, several at a time.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace dt {

/// The most files that one process creates, syncs or closes at a time. A disk or a file server serves some of
/// them together.
inline constexpr std::size_t max_concurrent_files = 16;

/// Calls `body` with each of 0 … count−1, on up to `most` threads at a time, this one among them. Begins no
/// calls after one has thrown. Takes fewer threads where the system grants no more.
/// Errors: throws what the first call that failed threw, after all calls have returned.
inline void call_concurrently(std::size_t count, std::size_t most,
                              const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 1; i < std::min(count, most); ++i) threads.emplace_back(work);
    } catch (const std::system_error&) {  // the threads that there are suffice
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dt
