#include "train/step/matrix_update.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "kernels/cuda/matmul/matmul.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/newton_schulz.hpp"
#include "optim/muon.hpp"

namespace dt::train {

using parallel::MatrixPart, parallel::PlannedMatrix;

namespace {

/// Copies ranges of elements. Copies several ranges at once if they have one length and one distance.
void copy_ranges(const Context& context, const Tensor& source, const Tensor& target,
                 const std::vector<CopyRange>& ranges) {
  for (auto first = ranges.begin(); first != ranges.end();) {
    auto next = first + 1;
    const bool has_alike = next != ranges.end() && next->count == first->count;
    const std::int64_t width = first->count, from = has_alike ? next->source - first->source : width,
                       to = has_alike ? next->target - first->target : width;
    std::int64_t rows = 1;
    for (; next != ranges.end(); ++next, ++rows) {
      const CopyRange& before = *(next - 1);
      if (next->count != width || next->source - before.source != from || next->target - before.target != to)
        break;
    }
    const auto rows_of = [&](const Tensor& tensor, std::int64_t begin, std::int64_t distance) {
      std::byte* const start = tensor.raw() + static_cast<std::size_t>(begin) * dtype_bytes(tensor.dtype());
      return kernels::ColumnBlock{Tensor(start, tensor.dtype(), {rows, distance}, tensor.device())};
    };
    kernels::cast_columns(context, rows_of(source, first->source, from), rows_of(target, first->target, to),
                          width);
    first = next;
  }
}

std::size_t index_of_momentum(const parallel::ModelStorage& storage) {
  const std::optional<std::size_t> kind = storage.find_kind("muon_m");
  DT_CHECK(kind, "the storage has no momentum of matrices");
  return *kind;
}

}  // namespace

/// Transfers between the ranks of a stage. None of them waits for another.
class MatrixUpdate::Exchange {
 public:
  explicit Exchange(const parallel::Groups& groups) : groups_(groups) {}
  void send(int peer, const Tensor& data) { transfers_.push_back({peer, data, true}); }
  void receive(int peer, const Tensor& data) { transfers_.push_back({peer, data, false}); }
  /// Makes the transfers. Later work of the context waits for them.
  void run(const Context& context) const {
    if (transfers_.empty()) return;
    groups_.exposed_time().measure([&] { groups_.stage()->exchange(transfers_).wait(context); });
  }

 private:
  const parallel::Groups& groups_;
  std::vector<comm::DeviceTransport::Transfer> transfers_;
};

MatrixUpdate::MatrixUpdate(const Context& context, parallel::ModelStorage& storage)
    : context_(context),
      storage_(storage),
      plan_(storage.local()),
      momentum_kind_(index_of_momentum(storage)) {
  const comm::Communicator* const stage = storage.ranks().stage();
  const int num_ranks = stage ? stage->size() : 1;
  DT_CHECK(num_ranks == plan_.num_ranks(), "{} ranks for matrices of {}", num_ranks, plan_.num_ranks());
  if (context.device() == Device::host()) return;
  // Allocates scratch memory now, so that steps on a device allocate none.
  const Arena::Scope scope(context.scratch());
  const std::size_t bytes =
      plan_.scratch_bytes(storage.precision().master()) + kernels::cuda::most_workspace_bytes;
  context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(bytes)});
}

void MatrixUpdate::run(const kernels::OptimizerStep& step) {
  for (const std::vector<PlannedMatrix>& round : plan_.rounds()) run_round(step, round);
}

void MatrixUpdate::run_round(const kernels::OptimizerStep& step, const std::vector<PlannedMatrix>& round) {
  const Arena::Scope scope(context_.scratch());
  const std::vector<HeldPart> parts = update_momenta(step, round);
  const Tensor direction_RC = gather_direction(parts, round);
  Tensor update_RC;
  if (direction_RC) {
    update_RC = allocate(direction_RC.shape());
    kernels::newton_schulz(context_, direction_RC, update_RC);
  }
  for (std::size_t begin = 0; begin < round.size();) {
    const std::size_t end = parallel::MatrixPlan::end_of_batch(round, begin);
    update_weights(step, parts, std::span(round).subspan(begin, end - begin), update_RC);
    begin = end;
  }
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
  Exchange exchange(storage_.ranks());
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
          exchange.send(matrix.owner, held_direction(matrix, piece));
      } else if (is_own) {
        arrivals.emplace_back(piece, allocate({piece.numel()}));
        exchange.receive(rank, arrivals.back().second);
      }
    }
  }
  exchange.run(context_);
  for (const auto& [piece, values] : arrivals)
    copy_ranges(context_, values, whole_RC, intersect(piece, own->piece));
  return whole_RC;
}

/// Sends ranks what they hold of the update. Ranks that hold the same elements share what is packed.
void MatrixUpdate::send_update(const PlannedMatrix& matrix, const Tensor& update_RC,
                               Exchange& exchange) const {
  std::vector<std::pair<Piece, Tensor>> packed;
  for (int rank = 0; rank < plan_.num_ranks(); ++rank) {
    const Piece held = plan_.held_by(matrix, rank);
    if (rank == plan_.rank() || held.numel() == 0) continue;
    auto found = std::ranges::find(packed, held, &std::pair<Piece, Tensor>::first);
    if (found == packed.end())
      found = packed.emplace(packed.end(), held, elements_for(held, matrix, update_RC));
    exchange.send(rank, found->second);
  }
}

Tensor MatrixUpdate::elements_for(const Piece& held, const PlannedMatrix& matrix,
                                  const Tensor& update_RC) const {
  const std::vector<CopyRange> ranges = intersect(matrix.piece, held);
  if (ranges.size() == 1) return update_RC.flat(ranges.front().source, ranges.front().count);
  const Tensor values = allocate({held.numel()});
  copy_ranges(context_, update_RC, values, ranges);
  return values;
}

/// Distributes the updates of some matrices, and applies them. On devices exchanges run one after the other.
/// All ranks make the same exchanges, so that they cannot deadlock.
void MatrixUpdate::update_weights(const kernels::OptimizerStep& step, const std::vector<HeldPart>& parts,
                                  std::span<const PlannedMatrix> matrices, const Tensor& update_RC) const {
  const Arena::Scope scope(context_.scratch());
  Exchange exchange(storage_.ranks());
  std::vector<std::pair<const HeldPart*, Tensor>> updates;
  for (const PlannedMatrix& matrix : matrices) {
    const bool is_own = matrix.owner == plan_.rank();
    if (is_own) send_update(matrix, update_RC, exchange);
    const auto part = std::ranges::find(parts, &matrix, &HeldPart::matrix);
    if (part == parts.end()) continue;
    if (is_own) {
      updates.emplace_back(&*part, elements_for(part->piece, matrix, update_RC));
    } else {
      updates.emplace_back(&*part, allocate({part->piece.numel()}));
      exchange.receive(matrix.owner, updates.back().second);
    }
  }
  exchange.run(context_);
  for (const auto& [part, update] : updates) apply(step, *part, update);
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
