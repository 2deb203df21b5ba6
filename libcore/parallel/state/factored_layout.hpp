#pragma once
// The places of what ranks exchange for an optimizer that factors second moments: a number for each row and
// column of each matrix, and sums over each tensor. This is arithmetic alone: no rank needs to exist.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel/state/local_table.hpp"

namespace dt::parallel {

/// A parameter whose state is on this stage: matrices, whose second moments are factored, or vectors. An
/// expert's part is a matrix of its own.
struct FactoredParam {
  int param = 0;              // index into LocalTable::params()
  bool is_factored = false;   // there are lines
  std::int64_t matrices = 1;  // or vectors
  std::int64_t rows = 0;      // in one matrix
  std::int64_t columns = 0;
  std::int64_t first_row = 0;  // place among all lines: matrices · rows rows, then columns
  std::int64_t first_matrix = 0;

  std::int64_t num_rows() const { return is_factored ? matrices * rows : 0; }
  std::int64_t num_columns() const { return is_factored ? matrices * columns : 0; }
  std::int64_t first_column() const { return first_row + num_rows(); }
};

/// All such parameters of a stage, in the same order on its ranks. Each rank sums over the elements that it
/// holds; then the ranks sum what is proportional to rows and columns alone. To send a matrix to one rank and
/// its update back, as train::MatrixUpdate does, would move each element twice or, as the weights' norm is
/// needed too, three times.
class FactoredLayout {
 public:
  explicit FactoredLayout(const LocalTable& local);

  const std::vector<FactoredParam>& params() const { return params_; }
  std::int64_t num_lines() const { return num_lines_; }
  std::int64_t num_matrices() const { return num_matrices_; }
  /// Returns whether ranks hold different elements, and so exchange sums. Otherwise each has them all.
  bool is_divided() const { return is_divided_; }
  /// Returns whether the rank counts its elements of a parameter in sums over ranks. One rank counts each
  /// element.
  bool counts(const FactoredParam& param) const;

  /// Returns the elements that each matrix and vector takes in a sum over ranks.
  static int elements_of_sum();
  /// Returns the bytes of the buffers that ranks exchange in a step. `sums` is the number of sums over
  /// tensors: of weights, of updates.
  std::int64_t exchanged_bytes(int sums) const;
  /// Returns the most scratch memory that the update takes: numbers and sums of lines, and two sums over each
  /// tensor.
  std::size_t scratch_bytes() const;

 private:
  const LocalTable& local_;
  std::vector<FactoredParam> params_;
  std::int64_t num_lines_ = 0, num_matrices_ = 0;
  bool is_divided_ = false;
};

}  // namespace dt::parallel
