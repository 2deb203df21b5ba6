#include "equivalence/parameter_gatherer.hpp"

#include <array>
#include <cstring>

namespace dt::equivalence {

namespace {

/// Copies a piece's values to their places in `whole`.
void copy(const Piece& piece, const Tensor& values, const Tensor& whole) {
  for (const CopyRange& run : intersect(piece, Piece::whole(whole.shape()))) {
    const Tensor target = whole.flat(run.target, run.count);
    std::memcpy(target.raw(), values.flat(run.source, run.count).raw(), target.bytes());
  }
}

}  // namespace

ParameterGatherer::ParameterGatherer(const Context& context, const parallel::ModelStorage& storage,
                                     comm::Communicator& world)
    : context_(context),
      storage_(storage),
      local_(storage.local()),
      world_(world),
      dtype_(storage.precision().master()) {
  if (world.rank() != 0) return;
  for (int rank = 0; rank < world.size(); ++rank) {
    const model::Layout& layout = local_.layout();
    const parallel::LocalTable table(local_.table(), layout, layout.coordinates_of(rank));
    for (const parallel::OwnedPiece& own : owned(table))
      pieces_of_param_[table.param(own.param).param].push_back({rank, own.piece});
  }
}

void ParameterGatherer::visit(const std::function<void(const Tensor&)>& look) {
  visit_source(look);
  average_kind_ = storage_.find_kind(kernels::average_kind);
  if (!average_kind_) return;
  visit_source(look);
  average_kind_.reset();
}

void ParameterGatherer::visit_source(const std::function<void(const Tensor&)>& look) {
  if (world_.rank() != 0) return send_all();
  const auto num_params = static_cast<int>(local_.table().params().size());
  for (int param = 0; param < num_params; ++param) look(assemble(param));
}

std::vector<parallel::OwnedPiece> ParameterGatherer::owned(const parallel::LocalTable& local) const {
  const std::array kind_bytes{dtype_bytes(dtype_)};
  return parallel::owned_pieces(local, kind_bytes);
}

Tensor ParameterGatherer::source_of(int group) const {
  return average_kind_ ? storage_.group_states(group)[*average_kind_] : storage_.group_masters(group);
}

HostMirror ParameterGatherer::values_of(const parallel::OwnedPiece& own) const {
  const parallel::LocalParam& param = local_.param(own.param);
  const std::int64_t begin = param.owned_offset + own.piece.begin - param.owned_piece.begin;
  return {context_, source_of(param.group).flat(begin, own.piece.numel())};
}

void ParameterGatherer::send_all() const {
  for (const parallel::OwnedPiece& own : owned(local_)) world_.send(0, values_of(own).tensor()).wait_host();
}

Tensor ParameterGatherer::assemble(int param) {
  const Shape& shape = local_.table().params()[static_cast<std::size_t>(param)].shape;
  whole_ = Buffer(Device::host(), storage_bytes(dtype_, shape.numel()));
  const Tensor whole(whole_, dtype_, shape);
  for (const RankPiece& rank_piece : pieces_of_param_[param]) add(rank_piece, param, whole);
  return whole;
}

void ParameterGatherer::add(const RankPiece& rank_piece, int param, const Tensor& whole) const {
  if (rank_piece.rank == 0) {
    for (const parallel::OwnedPiece& own : owned(local_)) {
      if (local_.param(own.param).param == param && own.piece == rank_piece.piece)
        copy(own.piece, values_of(own).tensor(), whole);
    }
    return;
  }
  const Buffer arrived(Device::host(), storage_bytes(dtype_, rank_piece.piece.numel()));
  const Tensor values(arrived, dtype_, Shape{rank_piece.piece.numel()});
  world_.receive(rank_piece.rank, values).wait_host();
  copy(rank_piece.piece, values, whole);
}

}  // namespace dt::equivalence
