#pragma once
// Division of state among the writers of a checkpoint.

#include <span>
#include <vector>

#include "checkpoint/writer.hpp"
#include "tensor/piece.hpp"

namespace dt::checkpoint::test {

/// Returns writer `writer`'s shard of `whole`, divided as tensor/piece.hpp does, as views of the
/// same memory.
inline std::vector<SourcePiece> share_of(std::span<const SourcePiece> whole, int writer, int num_writers) {
  std::vector<SizedPiece> sized;
  for (const SourcePiece& p : whole) sized.push_back({p.piece, dtype_bytes(p.data.dtype())});
  std::vector<SourcePiece> shard;
  for (const IndexedPiece& part : dt::partition_by_bytes(sized, writer, num_writers)) {
    SourcePiece& own = shard.emplace_back(whole[part.index]);
    own.data = own.data.flat(part.piece.begin - own.piece.begin, part.piece.numel());
    own.piece = part.piece;
  }
  return shard;
}

}  // namespace dt::checkpoint::test
