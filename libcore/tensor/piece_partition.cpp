#include "tensor/piece_partition.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt {

namespace {

std::uint64_t bytes_of(const SizedPiece& p) {
  return static_cast<std::uint64_t>(p.piece.numel()) * p.element_bytes;
}

/// Returns ⌊total·shard/num_shards⌋, even if the product exceeds 64 bits.
std::uint64_t border(std::uint64_t total, std::uint64_t shard, std::uint64_t num_shards) {
  return total / num_shards * shard + total % num_shards * shard / num_shards;
}

/// Returns how many whole elements of a piece that begins at byte `at` of the sequence end at or before
/// byte `limit`.
std::int64_t elements_before(std::uint64_t limit, std::uint64_t at, const SizedPiece& p) {
  if (limit <= at) return 0;
  return static_cast<std::int64_t>(std::min(limit - at, bytes_of(p)) / p.element_bytes);
}

}  // namespace

std::vector<IndexedPiece> partition_by_bytes(std::span<const SizedPiece> whole, int shard, int num_shards) {
  DT_CHECK(shard >= 0 && shard < num_shards, "part {} of {}", shard, num_shards);
  std::uint64_t total = 0;
  for (const SizedPiece& p : whole) total += bytes_of(p);
  const auto number = static_cast<std::uint64_t>(shard);
  const std::uint64_t begin = border(total, number, static_cast<std::uint64_t>(num_shards));
  const std::uint64_t end = border(total, number + 1, static_cast<std::uint64_t>(num_shards));
  std::vector<IndexedPiece> pieces;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t from = elements_before(begin, at, whole[i]);
    const std::int64_t to = elements_before(end, at, whole[i]);
    at += bytes_of(whole[i]);
    if (from == to) continue;
    IndexedPiece& own = pieces.emplace_back(IndexedPiece{i, whole[i].piece});
    own.piece.end = own.piece.begin + to;
    own.piece.begin += from;
  }
  return pieces;
}

}  // namespace dt
