#pragma once
// Rows that ranks divide, some at a time: the same places of each rank's.

#include <cstdint>

#include "model/seam.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Local rows [begin, end), of `local_rows`, of each of the ranks that divide the rows. In a tensor of all
/// rows, whose first part is rank 0's, they lie apart, one run a rank; together they are runs behind each
/// other. Where rows are not divided, or these are all, there is one run.
class RowsOfAll {
 public:
  RowsOfAll(const Share& share, std::int64_t local_rows, std::int64_t begin, std::int64_t end)
      : runs_(end - begin == local_rows ? 1 : share.row_ranks()),
        length_((end - begin) * share.row_ranks() / runs_),
        begin_(begin),
        local_rows_(local_rows),
        before_(begin * share.row_ranks()) {}

  int num_runs() const { return runs_; }
  std::int64_t count() const { return length_ * runs_; }
  /// One run, of a tensor of all rows and of one of these.
  Tensor apart(const Tensor& full_R, int run) const { return full_R.rows(first(run), first(run) + length_); }
  /// Where it begins among all rows, and how many it is.
  std::int64_t first(int run) const { return local_rows_ * run + begin_; }
  std::int64_t length() const { return length_; }
  Tensor run_of(const Tensor& together_R, int run) const {
    return together_R.rows(length_ * run, length_ * (run + 1));
  }
  /// Of memory that has room for all rows: a place for these together, behind those of lower places.
  Tensor place_in(const Tensor& memory_R) const { return memory_R.rows(before_, before_ + count()); }

  /// Memory for them together: where they lie in `full`, if that is one run, else scratch. Absent for an
  /// absent tensor.
  Tensor together(const Context& context, const Tensor& full_R) const;
  /// Between the two, unless they are one.
  void copy_in(const Context& context, const Tensor& full_R, const Tensor& together_R) const;
  void copy_out(const Context& context, const Tensor& together_R, const Tensor& full_R) const;

 private:
  int runs_;
  std::int64_t length_;  // of a run
  std::int64_t begin_, local_rows_, before_;
};

}  // namespace dt::model
