#pragma once
// Tensors from a checkpoint to their places in a file, in bounded memory.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "interchange/export.hpp"
#include "interchange/write_behind.hpp"

namespace dt::interchange {

/// Reads and checks blocks on the caller's thread and writes them on another.
class TensorMover {
 public:
  /// Writes bytes at an offset of the target tensor; called on the other thread until finish().
  using Put = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

  TensorMover(const ExportSource& source, const BytesDone& done) : source_(source), done_(done) {}

  /// Puts a tensor in row-major order behind the first `first` elements of the target.
  void move(const std::string& kind, const std::string& tensor, const Shape& shape, DType dtype,
            std::int64_t first, Put put);
  /// Puts a matrix [rows, columns] transposed: row i becomes column `first` + i of the target [columns,
  /// stacked].
  void move_transposed(const std::string& kind, const std::string& tensor, const Shape& shape, DType dtype,
                       std::int64_t first, std::int64_t stacked, Put put);
  /// Waits until all is written. Errors: those of `put`.
  void finish() { writes_.finish(); }

 private:
  /// Reads a piece and hands it to the other thread.
  void pass(const std::string& kind, const std::string& tensor, const Piece& piece, DType dtype,
            WriteBehind::Write write);

  const ExportSource& source_;
  const BytesDone& done_;
  std::vector<std::byte> strip_;  // of the other thread
  WriteBehind writes_;
};

}  // namespace dt::interchange
