#include "prove/whole_masters.hpp"

#include <array>
#include <cstring>

namespace dt::prove {

namespace {

/// Copies a piece's values to their places in `whole`.
void copy(const Piece& piece, const Tensor& values, const Tensor& whole) {
  for (const CopyRun& run : intersect(piece, Piece::whole(whole.shape()))) {
    const Tensor target = whole.flat(run.target, run.count);
    std::memcpy(target.raw(), values.flat(run.source, run.count).raw(), target.bytes());
  }
}

}  // namespace

WholeMasters::WholeMasters(const Context& context, const parallel::ModelStorage& storage,
                           comm::Communicator& world)
    : context_(context),
      storage_(storage),
      local_(storage.local()),
      world_(world),
      dtype_(storage.precision().master()) {
  if (world.rank() != 0) return;
  for (int rank = 0; rank < world.size(); ++rank) {
    const model::Layout& layout = local_.layout();
    const parallel::LocalTable table(local_.table(), layout, layout.place_of(rank));
    for (const parallel::OwnedPiece& own : owned(table))
      holdings_[table.param(own.param).param].push_back({rank, own.piece});
  }
}

void WholeMasters::visit(const std::function<void(const Tensor&)>& look) {
  if (world_.rank() != 0) return send_all();
  const auto num_params = static_cast<int>(local_.table().params().size());
  for (int param = 0; param < num_params; ++param) look(assemble(param));
}

std::vector<parallel::OwnedPiece> WholeMasters::owned(const parallel::LocalTable& local) const {
  const std::array kind_bytes{dtype_bytes(dtype_)};
  return parallel::owned_pieces(local, kind_bytes);
}

OnHost WholeMasters::values_of(const parallel::OwnedPiece& own) const {
  const parallel::LocalParam& param = local_.param(own.param);
  const std::int64_t begin = param.part_offset + own.piece.begin - param.part.begin;
  return {context_, storage_.group_masters(param.group).flat(begin, own.piece.numel())};
}

void WholeMasters::send_all() const {
  for (const parallel::OwnedPiece& own : owned(local_)) world_.send(0, values_of(own).tensor()).wait_host();
}

Tensor WholeMasters::assemble(int param) {
  const Shape& shape = local_.table().params()[static_cast<std::size_t>(param)].shape;
  whole_ = Buffer(Device::host(), static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype_));
  const Tensor whole(whole_, dtype_, shape);
  for (const Holding& holding : holdings_[param]) add(holding, param, whole);
  return whole;
}

void WholeMasters::add(const Holding& holding, int param, const Tensor& whole) const {
  if (holding.rank == 0) {
    for (const parallel::OwnedPiece& own : owned(local_)) {
      if (local_.param(own.param).param == param && own.piece == holding.piece)
        copy(own.piece, values_of(own).tensor(), whole);
    }
    return;
  }
  const Buffer arrived(Device::host(), static_cast<std::size_t>(holding.piece.numel()) * dtype_bytes(dtype_));
  const Tensor values(arrived, dtype_, Shape{holding.piece.numel()});
  world_.receive(holding.rank, values).wait_host();
  copy(holding.piece, values, whole);
}

}  // namespace dt::prove
