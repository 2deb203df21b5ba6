#include "checkpoint/export_parts.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace dt::checkpoint {

DType stored_dtype(const Reader& checkpoint, const std::string& param) {
  for (const StoredPiece& piece : checkpoint.manifest().pieces) {
    if (piece.kind == kind_weights && piece.tensor == param) return piece.dtype;
  }
  throw Error(ErrorKind::input, fmt::format("{}: {} is missing", checkpoint.path().string(), param),
              "the checkpoint does not hold all weights of its model");
}

void for_each_block(const Reader& checkpoint, const std::string& param, const Shape& shape, DType dtype,
                    const std::function<void(std::span<const std::byte>)>& use) {
  const std::size_t bytes = dtype_bytes(dtype);
  const auto block = static_cast<std::int64_t>(digest_block_bytes / bytes);
  const std::int64_t numel = shape.numel();
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(block, numel)) * bytes);
  Piece piece = Piece::whole(shape);
  for (std::int64_t begin = 0; begin < numel; begin += block) {
    piece.begin = begin;
    piece.end = std::min(begin + block, numel);
    const auto part = std::span(buffer).first(static_cast<std::size_t>(piece.numel()) * bytes);
    checkpoint.read(kind_weights, param, piece, Tensor(part.data(), dtype, Shape{piece.numel()}));
    use(part);
  }
}

}  // namespace dt::checkpoint
