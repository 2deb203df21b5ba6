#pragma once
// Moves tensors from a checkpoint to their places in a file, in bounded memory.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "convert/export.hpp"

namespace dt::convert {

/// Writes on its own thread the data that the caller's thread reads, so that reading and writing overlap.
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

/// Reads and checks blocks on the caller's thread and writes them on another.
class TensorCopier {
 public:
  /// Writes bytes at an offset of the target tensor. The copier calls it on the other thread until
  /// finish().
  using WriteAt = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

  TensorCopier(const ExportSource& source, bool clamp, const BytesDone& done)
      : source_(source), clamp_(clamp), done_(done) {}

  /// Puts a tensor in row-major order behind the first `first` elements of the target.
  /// Errors: input, naming the tensor: finite values that `dtype` holds as infinities, unless the copier
  /// clamps.
  void copy(const std::string& kind, const std::string& tensor, const Shape& shape, DType dtype,
            std::int64_t first, WriteAt put);
  /// Puts a matrix [rows, columns] transposed: row i becomes column `first` + i of the target [columns,
  /// stacked].
  void copy_transposed(const std::string& kind, const std::string& tensor, const Shape& shape, DType dtype,
                       std::int64_t first, std::int64_t stacked, WriteAt put);
  /// Returns what clamping changed.
  const ClampCount& clamped() const { return clamped_; }
  /// Waits until all is written.
  /// Errors: those of `put`.
  void finish() { writes_.finish(); }

 private:
  /// Finite values of one tensor that its new type holds as infinities.
  struct Overflow {
    std::int64_t count = 0;
    double largest = 0;  // by magnitude
  };
  /// Looks for such values in `values`, which have been read. With clamp_, replaces them by the
  /// type's largest value of the same sign.
  void find_overflow(const std::string& kind, const std::string& tensor, const Piece& piece,
                     const Tensor& values);
  /// Ends a tensor: counts its clamped values, or refuses it.
  void finish_overflow(const std::string& tensor, const Shape& shape, DType dtype);
  /// Reads a piece and passes it to the other thread.
  void copy_piece(const std::string& kind, const std::string& tensor, const Piece& piece, DType dtype,
                  WriteBehind::Write write);

  const ExportSource& source_;
  bool clamp_;
  const BytesDone& done_;
  Overflow overflow_;  // in the current tensor
  ClampCount clamped_;
  std::vector<std::byte> strip_;  // used on the other thread alone
  WriteBehind writes_;
};

}  // namespace dt::convert
