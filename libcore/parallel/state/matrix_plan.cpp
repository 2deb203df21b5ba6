#include "parallel/state/matrix_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "kernels/newton_schulz.hpp"
#include "model/parameter_scope.hpp"

namespace dt::parallel {

namespace {

bool is_matrix(const LocalTable& local, const LocalParam& param) {
  return model::is_in_scope(local.table(), param.param, model::ParameterScope::block_matrices);
}

/// Returns the interval of a box that a matrix takes: the box's part of an expert, or all of a parameter that
/// is one matrix. It is empty if the box has none of it.
Range interval_in_box(const PlannedMatrix& matrix, const Piece& piece) {
  const std::int64_t numel = piece.box.numel();
  if (piece.global.rank() == 2) return {0, numel};
  const std::int64_t expert = matrix.piece.start[0] - piece.start[0];
  if (expert < 0 || expert >= piece.box[0]) return {0, 0};
  const std::int64_t each = numel / piece.box[0];
  return {expert * each, each};
}

std::size_t aligned_bytes(DType dtype, std::int64_t numel) {
  constexpr std::size_t line = 256;  // on GPUs; shorter on hosts
  return round_up(storage_bytes(dtype, numel), line);
}

}  // namespace

double PlannedMatrix::flops() const {
  return kernels::newton_schulz_flops(rows, columns);
}

MatrixPlan::MatrixPlan(const LocalTable& local) {
  const model::Layout& layout = local.layout();
  std::map<std::pair<int, int>, LocalTable> tables;  // by tensor-parallel and expert rank
  for (int rank = 0; rank < layout.size(); ++rank) {
    const model::MeshCoordinates place = layout.coordinates_of(rank);
    if (place.pp != local.place().pp) continue;
    if (place == local.place()) rank_ = num_ranks();
    // Ranks that differ in neither hold the same shards, of which ZeRO leaves each a range.
    const auto [found, is_new] =
        tables.try_emplace({place.tp, layout.expert_rank(place)}, local.table(), layout, place);
    const LocalTable& table = found->second;
    std::vector<Piece>& pieces = owned_pieces_.emplace_back();
    for (const LocalParam& param : table.params()) {
      const LocalGroup& group = table.group(param.group);
      const Range owned = zero_sharding_of(layout, place, group.reduction).owned_range(group.numel);
      pieces.push_back(is_matrix(table, param) ? param.piece_within(owned) : Piece());
    }
  }
  const std::vector<PlannedMatrix> matrices = find_matrices(local);
  const auto num_matrices = static_cast<int>(matrices.size());
  std::vector<double> load(owned_pieces_.size());
  for (int first = 0; first < num_matrices; first += num_ranks()) {
    const auto begin = matrices.begin() + first;
    rounds_.emplace_back(begin, begin + std::min(num_ranks(), num_matrices - first));
    assign(rounds_.back(), load);
  }
}

/// Returns the matrices without owners, those of most operations first.
std::vector<PlannedMatrix> MatrixPlan::find_matrices(const LocalTable& local) const {
  std::vector<PlannedMatrix> matrices;
  for (int index = 0; index < static_cast<int>(local.params().size()); ++index) {
    const LocalParam& param = local.param(index);
    if (!is_matrix(local, param)) continue;
    const Shape& shape = local.spec(param).shape;
    const Piece whole = Piece::whole(shape);
    if (shape.rank() == 2) {
      matrices.push_back({index, whole, shape[0], shape[1]});
      continue;
    }
    const model::Split* const experts = local.spec(param).split_along(model::SplitAxis::expert);
    DT_CHECK(shape.rank() == 3 && experts && experts->dim == 0, "{} of shape {} is no list of matrices",
             local.spec(param).name, shape.to_string());
    for (std::int64_t expert = 0; expert < shape[0]; ++expert) {
      Piece piece = whole;
      piece.start[0] = expert;
      piece.box = Shape{1, shape[1], shape[2]};
      piece.end = shape[1] * shape[2];
      matrices.push_back({index, piece, shape[1], shape[2]});
    }
  }
  std::ranges::stable_sort(matrices, std::ranges::greater(), &PlannedMatrix::flops);
  return matrices;
}

/// Gives each matrix of a round to a rank: of those that have none yet, to the one that holds most of it, and
/// of these to the one that has had least to do.
void MatrixPlan::assign(std::vector<PlannedMatrix>& round, std::vector<double>& load) const {
  std::vector<bool> has_one(owned_pieces_.size());
  for (PlannedMatrix& matrix : round) {
    int owner = -1;
    std::pair<std::int64_t, double> best;
    for (int rank = 0; rank < num_ranks(); ++rank) {
      if (has_one[to_index(rank)]) continue;
      const std::pair<std::int64_t, double> merit{held_by(matrix, rank).numel(), -load[to_index(rank)]};
      if (owner < 0 || merit > best) owner = rank, best = merit;
    }
    has_one[to_index(owner)] = true;
    load[to_index(owner)] += matrix.flops();
    matrix.owner = owner;
    matrix.sources = find_sources(matrix);
    for (int rank = 0; rank < num_ranks(); ++rank)
      matrix.most_held = std::max(matrix.most_held, held_by(matrix, rank).numel());
  }
  std::ranges::sort(round, {}, &PlannedMatrix::owner);
}

Piece MatrixPlan::held_by(const PlannedMatrix& matrix, int rank) const {
  Piece piece = owned_pieces_[to_index(rank)][to_index(matrix.param)];
  const Range interval = interval_in_box(matrix, piece);
  piece.begin = std::max(piece.begin, interval.begin);
  piece.end = std::max(piece.begin, std::min(piece.end, interval.begin + interval.count));
  return piece;
}

std::vector<MatrixPart> MatrixPlan::find_sources(const PlannedMatrix& matrix) const {
  std::vector<MatrixPart> held;
  for (int rank = 0; rank < num_ranks(); ++rank) {
    if (const Piece piece = held_by(matrix, rank); piece.numel() > 0) held.push_back({rank, piece});
  }
  std::ranges::stable_sort(held, {},
                           [&](const MatrixPart& part) { return std::abs(part.rank - matrix.owner); });
  std::vector<MatrixPart> sources;
  for (std::size_t first = 0; first < held.size(); ++first) {
    const auto is_alike = [&](const MatrixPart& part) {
      return part.piece.start == held[first].piece.start && part.piece.box == held[first].piece.box;
    };
    if (std::any_of(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(first), is_alike)) continue;
    const Range interval = interval_in_box(matrix, held[first].piece);
    for (std::int64_t at = interval.begin; at < interval.begin + interval.count;) {
      const auto next = std::ranges::find_if(held, [&](const MatrixPart& part) {
        return is_alike(part) && part.piece.begin <= at && at < part.piece.end;
      });
      DT_CHECK(next != held.end(), "no rank of the stage holds element {} of a shard of parameter {}", at,
               matrix.param);
      sources.push_back(*next);
      sources.back().piece.begin = at;
      at = next->piece.end;
    }
  }
  return sources;
}

double MatrixPlan::busiest_flops() const {
  double flops = 0;
  for (const std::vector<PlannedMatrix>& round : rounds_)
    flops += std::ranges::max_element(round, {}, &PlannedMatrix::flops)->flops();
  return flops;
}

double MatrixPlan::imbalance() const {
  double total = 0;
  for (const std::vector<PlannedMatrix>& round : rounds_) {
    for (const PlannedMatrix& matrix : round) total += matrix.flops();
  }
  return total == 0 ? 1 : busiest_flops() * num_ranks() / total;
}

std::int64_t MatrixPlan::sent_elements() const {
  std::int64_t sent = 0;
  for (const std::vector<PlannedMatrix>& round : rounds_) {
    for (const PlannedMatrix& matrix : round) {
      for (const MatrixPart& part : matrix.sources)
        sent += part.rank == rank_ && matrix.owner != rank_ ? part.piece.numel() : 0;
      for (int rank = 0; matrix.owner == rank_ && rank < num_ranks(); ++rank)
        sent += rank == rank_ ? 0 : held_by(matrix, rank).numel();
    }
  }
  return sent;
}

std::size_t MatrixPlan::end_of_batch(const std::vector<PlannedMatrix>& round, std::size_t begin) {
  std::size_t end = begin;
  for (std::int64_t elements = 0; end < round.size(); ++end) {
    elements += round[end].most_held;
    if (end > begin && elements > most_arriving_elements) break;
  }
  return end;
}

/// Counts what train::MatrixUpdate allocates in a round: directions that an owner needs, the owner's matrix
/// and its update, what arrives of it or is packed for others, and the updates of others.
std::size_t MatrixPlan::scratch_bytes(DType dtype) const {
  std::size_t most = 0;
  for (const std::vector<PlannedMatrix>& round : rounds_) {
    std::size_t directions = 0, own = 0;
    std::int64_t largest = 0, updates = 0;
    for (const PlannedMatrix& matrix : round) {
      const std::int64_t held = held_by(matrix, rank_).numel();
      if (std::ranges::count(matrix.sources, rank_, &MatrixPart::rank) > 0)
        directions += aligned_bytes(dtype, held);
      if (matrix.owner != rank_) {
        largest = std::max(largest, held);
        updates += held;
        continue;
      }
      const std::int64_t numel = matrix.rows * matrix.columns;
      own = aligned_bytes(dtype, numel) +
            kernels::newton_schulz_scratch_bytes(dtype, matrix.rows, matrix.columns);
      const bool is_whole_here = held == numel && matrix.piece.global.rank() == 2;
      if (!is_whole_here)
        own += 2 * aligned_bytes(dtype, numel);  // the whole direction; what arrives, or is packed
    }
    const std::int64_t arriving = std::min(updates, largest + most_arriving_elements);
    most = std::max(most, directions + own + aligned_bytes(dtype, arriving));
  }
  return most;
}

}  // namespace dt::parallel
