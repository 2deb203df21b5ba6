#pragma once
// Writes on its own thread the data that the caller's thread reads, so that reading and writing
// overlap.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace dt::convert {

/// Circulates two buffers, which bound the memory: the caller takes one, fills it, and gives it back
/// with the write to do.
/// Thread safety: one thread calls all methods.
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

  /// Returns a buffer of that size with any content. Blocks until one is free.
  /// Errors: what a write threw.
  Buffer acquire(std::size_t bytes);
  /// Queues a write. The other thread calls `write` with the buffer, in the order of the calls.
  void submit(Buffer buffer, Write write);
  /// Waits until all is written.
  /// Errors: what a write threw. All later writes were then dropped.
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

}  // namespace dt::convert
