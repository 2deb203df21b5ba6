#pragma once
// Divides the work of an optimizer that updates whole matrices among the ranks of a stage. This is arithmetic
// alone: no rank needs to exist.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel/state/local_table.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

/// Elements of a matrix that one rank holds.
struct MatrixPart {
  int rank = 0;
  Piece piece;
};

/// A matrix of the stage's blocks: a parameter, or one expert's part of it. Its owner makes its update.
struct PlannedMatrix {
  int param = 0;  // index into LocalTable::params(), the same on all ranks of the stage
  Piece piece;    // its elements of the parameter
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int owner = 0;  // a rank of the stage
  /// The parts from which the owner gathers the matrix. Each element is in one of them. Of ranks that hold
  /// the same element the owner comes first, then the nearest.
  std::vector<MatrixPart> sources{};
  std::int64_t most_held = 0;  // the most elements of the matrix that one rank holds

  double flops() const;
};

/// The owners of all matrices of a stage, and the rounds in which they work. Ranks are numbered as in
/// Groups::stage(). Elements of a matrix are where ZeRO and tensor parallelism leave its parameter's; the
/// owner gathers them, and sends each rank what it holds of the update. So a matrix is updated once, wherever
/// its elements lie.
class MatrixPlan {
 public:
  explicit MatrixPlan(const LocalTable& local);

  int rank() const { return rank_; }
  int num_ranks() const { return static_cast<int>(owned_pieces_.size()); }
  /// Returns the matrices by rounds, those of most operations first. In a round each rank owns at most one,
  /// in the order of owners. So ranks that wait for each other in each round have about as much to do.
  const std::vector<std::vector<PlannedMatrix>>& rounds() const { return rounds_; }

  /// Returns the elements of a matrix whose state a rank holds: consecutive ones of its shard of the
  /// parameter. May be empty.
  Piece held_by(const PlannedMatrix& matrix, int rank) const;

  /// Returns the operations of the busiest owner of each round, summed.
  double busiest_flops() const;
  /// Returns busiest_flops() ÷ the mean operations of a rank; 1 if there are no matrices.
  double imbalance() const;
  /// Returns the elements that this rank sends in a step.
  std::int64_t sent_elements() const;
  /// Returns the most scratch memory that this rank takes in a round, without what products pack.
  std::size_t scratch_bytes(DType dtype) const;
  /// Returns the end of the batch of matrices, from `begin` on, whose updates are sent together. It is the
  /// same on all ranks. In a batch, a rank receives at most most_arriving_elements elements, or one matrix.
  static std::size_t end_of_batch(const std::vector<PlannedMatrix>& round, std::size_t begin);
  static constexpr std::int64_t most_arriving_elements = std::int64_t{1} << 24;

 private:
  std::vector<MatrixPart> find_sources(const PlannedMatrix& matrix) const;
  std::vector<PlannedMatrix> find_matrices(const LocalTable& local) const;
  void assign(std::vector<PlannedMatrix>& round, std::vector<double>& load) const;

  int rank_ = 0;
  std::vector<std::vector<Piece>> owned_pieces_;  // by rank, then by parameter
  std::vector<std::vector<PlannedMatrix>> rounds_;
};

}  // namespace dt::parallel
