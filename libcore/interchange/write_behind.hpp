#pragma once
// A thread that writes what another one reads, so that both go on at once.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace dt::interchange {

/// Buffers go round: take() one, fill it, hand it over with what is to be done with it. Memory is bounded by
/// two buffers. All methods are for one thread.
class WriteBehind {
 public:
  struct Buffer {
    std::vector<std::byte> storage;  // only grows, so that it is not cleared each time
    std::span<std::byte> bytes;
  };
  using Write = std::function<void(std::span<const std::byte>)>;

  WriteBehind();
  /// Waits for the write under way and drops those that have not begun.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;

  /// A buffer of that size with any content; waits until one is free. Throws what a write threw.
  Buffer take(std::size_t bytes);
  /// `write` is called with the buffer on the other thread, in the order of the calls.
  void give(Buffer buffer, Write write);
  /// Waits until all is written. Throws what a write threw; then all later ones were dropped.
  void finish();

 private:
  struct Job {
    Buffer buffer;
    Write write;
  };
  void work();
  void rethrow();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::vector<Buffer> free_;
  bool busy_ = false;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace dt::interchange
