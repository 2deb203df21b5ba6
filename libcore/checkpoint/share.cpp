#include "checkpoint/share.hpp"

#include "base/error.hpp"
#include "tensor/piece_share.hpp"

namespace dt::checkpoint {

std::vector<SourcePiece> share_of(std::span<const SourcePiece> whole, int writer, int num_writers) {
  std::vector<SizedPiece> sized;
  for (const SourcePiece& p : whole) {
    DT_CHECK(p.data.numel() == p.piece.numel(), "{} {}: {} elements for a piece of {}", p.kind, p.tensor,
             p.data.numel(), p.piece.numel());
    sized.push_back({p.piece, dtype_bytes(p.data.dtype())});
  }
  std::vector<SourcePiece> share;
  for (const PieceShare& part : dt::share_of(sized, writer, num_writers)) {
    const SourcePiece& p = whole[part.index];
    SourcePiece& own = share.emplace_back(p);
    own.piece = part.piece;
    if (own.piece != p.piece) own.data = p.data.flat(part.piece.begin - p.piece.begin, part.piece.numel());
  }
  return share;
}

}  // namespace dt::checkpoint
