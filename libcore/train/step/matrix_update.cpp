#include "train/step/matrix_update.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "kernels/newton_schulz.hpp"
#include "optim/muon.hpp"

namespace dt::train {

using parallel::MatrixPart, parallel::PlannedMatrix;

namespace {

/// Copies elements on the host, as ranges of both.
void copy_ranges(const Tensor& source, const Tensor& target, const std::vector<CopyRange>& ranges) {
  const std::size_t element = dtype_bytes(target.dtype());
  for (const CopyRange& range : ranges)
    std::memcpy(target.raw() + static_cast<std::size_t>(range.target) * element,
                source.raw() + static_cast<std::size_t>(range.source) * element,
                static_cast<std::size_t>(range.count) * element);
}

std::size_t index_of_momentum(const parallel::ModelStorage& storage) {
  const auto found = std::ranges::find(storage.state_kinds(), kernels::ParameterScope::block_matrices,
                                       &kernels::StateKind::scope);
  DT_CHECK(found != storage.state_kinds().end(), "the storage has no state of matrices");
  return static_cast<std::size_t>(found - storage.state_kinds().begin());
}

}  // namespace

class MatrixUpdate::Transfers {
 public:
  explicit Transfers(const parallel::Groups& groups) : groups_(groups) {}
  void send(int peer, const Tensor& data) {
    groups_.exposed_time().measure([&] { works_.push_back(groups_.stage()->send(peer, data)); });
  }
  void receive(int peer, const Tensor& data) {
    groups_.exposed_time().measure([&] { works_.push_back(groups_.stage()->receive(peer, data)); });
  }
  void wait() {
    groups_.exposed_time().measure([&] {
      for (const comm::Work& work : works_) work.wait_host();
    });
    works_.clear();
  }

 private:
  const parallel::Groups& groups_;
  std::vector<comm::Work> works_;
};

MatrixUpdate::MatrixUpdate(const Context& context, parallel::ModelStorage& storage)
    : context_(context),
      storage_(storage),
      plan_(storage.local()),
      momentum_kind_(index_of_momentum(storage)) {
  DT_CHECK(context.device() == Device::host(), "matrices are updated on the host alone");
  const comm::Communicator* const stage = storage.ranks().stage();
  const int num_ranks = stage ? stage->size() : 1;
  DT_CHECK(num_ranks == plan_.num_ranks(), "{} ranks for matrices of {}", num_ranks, plan_.num_ranks());
}

void MatrixUpdate::run(const kernels::OptimizerStep& step) {
  for (const std::vector<PlannedMatrix>& round : plan_.rounds()) run_round(step, round);
}

void MatrixUpdate::run_round(const kernels::OptimizerStep& step, const std::vector<PlannedMatrix>& round) {
  const Arena::Scope scope(context_.scratch());
  const std::vector<HeldPart> parts = update_momenta(step, round);
  const Tensor direction_RC = gather_direction(parts, round);
  Transfers sends(storage_.ranks());
  if (direction_RC) {
    const auto own = std::ranges::find(round, plan_.rank(), &PlannedMatrix::owner);
    const Tensor update_RC = allocate(direction_RC.shape());
    kernels::newton_schulz(context_, direction_RC, update_RC);
    send_update(*own, update_RC, sends);
    const auto part = std::ranges::find(parts, &*own, &HeldPart::matrix);
    if (part != parts.end()) apply(step, *part, elements_for(part->piece, *own, update_RC));
  }
  receive_updates(step, parts);
  sends.wait();
}

Tensor MatrixUpdate::allocate(const Shape& shape) const {
  return context_.scratch().allocate(storage_.precision().master(), shape);
}

Tensor MatrixUpdate::elements_of(const HeldPart& part, const Tensor& flat, std::int64_t offset) const {
  const parallel::LocalParam& param = storage_.local().param(part.matrix->param);
  return flat.flat(offset + part.piece.begin - param.owned_piece.begin, part.piece.numel());
}

/// Keeps the directions that this rank's matrix or another owner needs.
std::vector<MatrixUpdate::HeldPart> MatrixUpdate::update_momenta(const kernels::OptimizerStep& step,
                                                                 const std::vector<PlannedMatrix>& round) {
  std::vector<HeldPart> parts;
  for (const PlannedMatrix& matrix : round) {
    HeldPart part{&matrix, plan_.held_by(matrix, plan_.rank()), {}};
    if (part.piece.numel() == 0) continue;
    const bool is_source = std::ranges::count(matrix.sources, plan_.rank(), &MatrixPart::rank) > 0;
    if (is_source) part.direction = allocate({part.piece.numel()});
    const parallel::LocalParam& param = storage_.local().param(matrix.param);
    const Arena::Scope scope(context_.scratch());
    optim::update_momentum(context_, step,
                           elements_of(part, storage_.group_gradient(param.group), param.owned_offset),
                           elements_of(part, storage_.param_state(param, momentum_kind_), 0),
                           is_source ? part.direction : allocate({part.piece.numel()}));
    parts.push_back(std::move(part));
  }
  return parts;
}

Tensor MatrixUpdate::gather_direction(const std::vector<HeldPart>& parts,
                                      const std::vector<PlannedMatrix>& round) const {
  const auto own = std::ranges::find(round, plan_.rank(), &PlannedMatrix::owner);
  const auto part_of_own =
      own == round.end() ? parts.end() : std::ranges::find(parts, &*own, &HeldPart::matrix);
  const bool is_whole_here = part_of_own != parts.end() && part_of_own->piece == own->piece;
  Tensor whole_RC;
  if (is_whole_here)
    whole_RC = part_of_own->direction.reshaped({own->rows, own->columns});
  else if (own != round.end())
    whole_RC = allocate({own->rows, own->columns});
  const Arena::Scope scope(context_.scratch());
  std::vector<std::pair<Piece, Tensor>> arrivals;
  Transfers transfers(storage_.ranks());
  const auto held_direction = [&](const PlannedMatrix& matrix, const Piece& piece) {
    const auto part = std::ranges::find(parts, &matrix, &HeldPart::matrix);
    return part->direction.flat(piece.begin - part->piece.begin, piece.numel());
  };
  for (const PlannedMatrix& matrix : round) {
    for (const auto& [rank, piece] : matrix.sources) {
      const bool is_own = matrix.owner == plan_.rank();
      if (is_own && is_whole_here) continue;
      if (rank == plan_.rank()) {
        if (is_own)
          arrivals.emplace_back(piece, held_direction(matrix, piece));
        else
          transfers.send(matrix.owner, held_direction(matrix, piece));
      } else if (is_own) {
        arrivals.emplace_back(piece, allocate({piece.numel()}));
        transfers.receive(rank, arrivals.back().second);
      }
    }
  }
  transfers.wait();
  for (const auto& [piece, values] : arrivals) copy_ranges(values, whole_RC, intersect(piece, own->piece));
  return whole_RC;
}

/// Sends ranks what they hold of the update. Ranks that hold the same elements share what is packed.
void MatrixUpdate::send_update(const PlannedMatrix& matrix, const Tensor& update_RC,
                               Transfers& transfers) const {
  std::vector<std::pair<Piece, Tensor>> packed;
  for (int rank = 0; rank < plan_.num_ranks(); ++rank) {
    const Piece held = plan_.held_by(matrix, rank);
    if (rank == plan_.rank() || held.numel() == 0) continue;
    auto found = std::ranges::find(packed, held, &std::pair<Piece, Tensor>::first);
    if (found == packed.end())
      found = packed.emplace(packed.end(), held, elements_for(held, matrix, update_RC));
    transfers.send(rank, found->second);
  }
}

Tensor MatrixUpdate::elements_for(const Piece& held, const PlannedMatrix& matrix,
                                  const Tensor& update_RC) const {
  const std::vector<CopyRange> ranges = intersect(matrix.piece, held);
  if (ranges.size() == 1) return update_RC.flat(ranges.front().source, ranges.front().count);
  const Tensor values = allocate({held.numel()});
  copy_ranges(update_RC, values, ranges);
  return values;
}

/// Receives and applies the updates of other owners, of a bounded number of elements at a time.
void MatrixUpdate::receive_updates(const kernels::OptimizerStep& step,
                                   const std::vector<HeldPart>& parts) const {
  for (auto next = parts.begin(); next != parts.end();) {
    const Arena::Scope scope(context_.scratch());
    Transfers transfers(storage_.ranks());
    std::vector<std::pair<const HeldPart*, Tensor>> arriving;
    for (std::int64_t elements = 0; next != parts.end(); ++next) {
      if (next->matrix->owner == plan_.rank()) continue;
      if (elements > 0 && elements + next->piece.numel() > parallel::MatrixPlan::most_arriving_elements)
        break;
      elements += next->piece.numel();
      arriving.emplace_back(&*next, allocate({next->piece.numel()}));
      transfers.receive(next->matrix->owner, arriving.back().second);
    }
    transfers.wait();
    for (const auto& [part, update] : arriving) apply(step, *part, update);
  }
}

void MatrixUpdate::apply(const kernels::OptimizerStep& step, const HeldPart& part,
                         const Tensor& update) const {
  const parallel::LocalParam& param = storage_.local().param(part.matrix->param);
  const auto elements = [&](const Tensor& shard) { return elements_of(part, shard, param.owned_offset); };
  optim::apply_direction(
      context_, step, part.matrix->rows, part.matrix->columns, update,
      elements(storage_.group_masters(param.group)),
      storage_.precision().has_masters() ? elements(storage_.group_weights(param.group)) : Tensor());
}

}  // namespace dt::train
