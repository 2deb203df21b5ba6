#pragma once
// Moves tensors from a checkpoint to their places in a file, in bounded memory.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "convert/export.hpp"
#include "convert/write_behind.hpp"

namespace dt::convert {

/// Reads and checks blocks on the caller's thread and writes them on another.
class TensorCopier {
 public:
  /// Writes bytes at an offset of the target tensor. The mover calls it on the other thread until
  /// finish().
  using WriteAt = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

  TensorCopier(const ExportSource& source, bool clamp, const BytesDone& done)
      : source_(source), clamp_(clamp), done_(done) {}

  /// Puts a tensor in row-major order behind the first `first` elements of the target.
  /// Errors: input, naming the tensor: finite values that `dtype` holds as infinities, unless the mover
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
