#include "checkpoint/share.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::checkpoint {

namespace {

/// ⌊total·part/num_parts⌋, where the product may exceed 64 bits.
std::uint64_t border(std::uint64_t total, std::uint64_t part, std::uint64_t num_parts) {
  return total / num_parts * part + total % num_parts * part / num_parts;
}

/// How many whole elements of a piece that begins at byte `at` of the sequence end at or before byte `limit`.
std::int64_t elements_before(std::uint64_t limit, std::uint64_t at, const Tensor& data) {
  if (limit <= at) return 0;
  const std::uint64_t elements = (limit - at) / dtype_bytes(data.dtype());
  return static_cast<std::int64_t>(std::min(elements, static_cast<std::uint64_t>(data.numel())));
}

}  // namespace

std::vector<SourcePiece> share_of(std::span<const SourcePiece> whole, int writer, int num_writers) {
  DT_CHECK(writer >= 0 && writer < num_writers, "writer {} of {}", writer, num_writers);
  std::uint64_t total = 0;
  for (const SourcePiece& p : whole) {
    DT_CHECK(p.data.numel() == p.piece.numel(), "{} {}: {} elements for a piece of {}", p.kind, p.tensor,
             p.data.numel(), p.piece.numel());
    total += p.data.bytes();
  }
  const auto part = static_cast<std::uint64_t>(writer);
  const std::uint64_t begin = border(total, part, static_cast<std::uint64_t>(num_writers));
  const std::uint64_t end = border(total, part + 1, static_cast<std::uint64_t>(num_writers));
  std::vector<SourcePiece> share;
  std::uint64_t at = 0;
  for (const SourcePiece& p : whole) {
    const std::int64_t from = elements_before(begin, at, p.data);
    const std::int64_t to = elements_before(end, at, p.data);
    at += p.data.bytes();
    if (from == to) continue;
    share.push_back(p);
    SourcePiece& own = share.back();
    own.piece.begin = p.piece.begin + from;
    own.piece.end = p.piece.begin + to;
    if (own.piece != p.piece) own.data = p.data.flat(from, to - from);
  }
  return share;
}

}  // namespace dt::checkpoint
