#pragma once
// The places of the numbers that ranks exchange for an optimizer that factors second moments: numbers for
// each row and column of each matrix, and sums over each tensor. It is arithmetic alone: no other rank needs
// to exist.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel/state/local_table.hpp"

namespace dt::parallel {

/// A parameter whose state is on this stage. It consists of matrices, whose second moments are factored, or
/// of vectors: one, or one for each expert. A line is a row or a column of a matrix.
struct FactoredParam {
  int param = 0;              // index into LocalTable::params()
  bool is_factored = false;   // the parameter has lines
  std::int64_t matrices = 1;  // number of matrices, or of vectors
  std::int64_t rows = 0;      // in one matrix
  std::int64_t columns = 0;
  std::int64_t first_row = 0;  // place among all lines; a parameter's rows precede its columns
  std::int64_t first_matrix = 0;

  std::int64_t num_rows() const { return is_factored ? matrices * rows : 0; }
  std::int64_t num_columns() const { return is_factored ? matrices * columns : 0; }
  std::int64_t first_column() const { return first_row + num_rows(); }
};

/// All such parameters of a stage, in the same order on all of its ranks. Each rank sums over the elements
/// that it holds, and then the ranks add these sums. So they exchange two numbers, a maximum and a sum, for
/// each row and column. Gathering a matrix on one rank and returning its update, as train::MatrixUpdate does,
/// would move each element twice, or three times if the norm of the weights is needed.
class FactoredLayout {
 public:
  explicit FactoredLayout(const LocalTable& local);

  const std::vector<FactoredParam>& params() const { return params_; }
  std::int64_t num_lines() const { return num_lines_; }
  std::int64_t num_matrices() const { return num_matrices_; }
  /// Returns whether ranks hold different elements, and so exchange sums. Otherwise each rank has all
  /// elements.
  bool is_divided() const { return is_divided_; }
  /// Returns whether the rank adds its elements of a parameter to the sums over ranks. Exactly one rank adds
  /// each element.
  bool counts(const FactoredParam& param) const;

  /// Returns the number of buffer elements that each matrix or vector takes in a sum over ranks.
  static int elements_of_sum();
  /// Returns the bytes of the buffers that ranks exchange in a step. `sums` is the number of sums over each
  /// tensor (see optim::num_norms()).
  std::int64_t exchanged_bytes(int sums) const;
  /// Returns the most scratch memory that the update takes: the numbers and the sums of all lines, two sums
  /// over each tensor and, one after the other, what kernels take and the digits that ranks exchange.
  std::size_t scratch_bytes(int threads) const;

 private:
  const LocalTable& local_;
  std::vector<FactoredParam> params_;
  std::int64_t num_lines_ = 0, num_matrices_ = 0;
  bool is_divided_ = false;
};

}  // namespace dt::parallel
