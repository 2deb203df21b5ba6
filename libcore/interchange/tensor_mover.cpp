#include "interchange/tensor_mover.hpp"

#include <algorithm>
#include <cstring>

namespace dt::interchange {

namespace {

// Slabs do not end where blocks do, so that a block at their border is read twice: larger slabs, fewer
// borders.
constexpr std::size_t slab_bytes = std::size_t{32} << 20;

/// target [columns, rows] = source [rows, columns], in tiles, so that a cache line is used up once it is
/// there.
template <class T>
void transpose(const std::byte* source, std::size_t rows, std::size_t columns, std::byte* target) {
  constexpr std::size_t tile = 32;
  for (std::size_t j0 = 0; j0 < columns; j0 += tile) {
    for (std::size_t i0 = 0; i0 < rows; i0 += tile) {
      for (std::size_t j = j0; j < std::min(j0 + tile, columns); ++j) {
        for (std::size_t i = i0; i < std::min(i0 + tile, rows); ++i)
          std::memcpy(target + (j * rows + i) * sizeof(T), source + (i * columns + j) * sizeof(T), sizeof(T));
      }
    }
  }
}

void transpose(const std::byte* source, std::size_t rows, std::size_t columns, std::size_t element_bytes,
               std::byte* target) {
  switch (element_bytes) {
    case 8:
      return transpose<std::uint64_t>(source, rows, columns, target);
    case 4:
      return transpose<std::uint32_t>(source, rows, columns, target);
    default:
      return transpose<std::uint16_t>(source, rows, columns, target);
  }
}

}  // namespace

void TensorMover::pass(const std::string& kind, const std::string& tensor, const Piece& piece, DType dtype,
                       WriteBehind::Write write) {
  const std::size_t bytes = static_cast<std::size_t>(piece.numel()) * dtype_bytes(dtype);
  WriteBehind::Buffer buffer = writes_.take(bytes);
  source_.read(kind, tensor, piece, Tensor(buffer.bytes.data(), dtype, Shape{piece.numel()}, Device::host()));
  writes_.give(std::move(buffer), std::move(write));
  if (done_) done_(bytes);
}

void TensorMover::move(const std::string& kind, const std::string& tensor, const Shape& shape, DType dtype,
                       std::int64_t first, Put put) {
  const std::size_t bytes = dtype_bytes(dtype);
  const Piece whole = Piece::whole(shape);
  for (const Piece& block : source_.blocks(kind, tensor, shape)) {
    pass(kind, tensor, block, dtype, [=](std::span<const std::byte> values) {
      for (const CopyRun& run : intersect(block, whole)) {
        put(static_cast<std::uint64_t>(first + run.target) * bytes,
            values.subspan(static_cast<std::size_t>(run.source) * bytes,
                           static_cast<std::size_t>(run.count) * bytes));
      }
    });
  }
}

void TensorMover::move_transposed(const std::string& kind, const std::string& tensor, const Shape& shape,
                                  DType dtype, std::int64_t first, std::int64_t stacked, Put put) {
  const std::size_t bytes = dtype_bytes(dtype);
  const std::int64_t columns = shape[1];
  const std::size_t widest =
      std::max({bytes, dtype_bytes(source_.stored_dtype(kind, tensor)), sizeof(float)});
  const std::int64_t slab =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(slab_bytes / widest) / columns);
  for (std::int64_t begin = 0; begin < shape[0]; begin += slab) {
    const auto rows = static_cast<std::size_t>(std::min(slab, shape[0] - begin));
    Piece piece = Piece::whole(shape);
    piece.begin = begin * columns;
    piece.end = piece.begin + static_cast<std::int64_t>(rows) * columns;
    pass(kind, tensor, piece, dtype, [=, this](std::span<const std::byte> values) {
      strip_.resize(values.size());
      transpose(values.data(), rows, static_cast<std::size_t>(columns), bytes, strip_.data());
      // All columns of the target at once where the strip is as wide, else row by row.
      const bool is_whole = static_cast<std::int64_t>(rows) == stacked;
      const std::size_t step = is_whole ? strip_.size() : rows * bytes;
      for (std::size_t at = 0; at < strip_.size(); at += step) {
        const auto row = static_cast<std::int64_t>(at / (rows * bytes));
        put(static_cast<std::uint64_t>(row * stacked + first + begin) * bytes,
            std::span(strip_).subspan(at, step));
      }
    });
  }
}

}  // namespace dt::interchange
