#pragma once
// A range of local rows that is the same on all ranks that divide the rows.

#include <cstdint>

#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Local rows [begin, end) of `local_rows` on each of the ranks that divide the rows. In a tensor
/// of all rows, which begins with rank 0's rows, they are "apart": one run for each rank. In a
/// tensor of these rows alone they are "together": the runs are contiguous. There is only one run
/// if ranks do not divide rows or if the range is all rows.
class RowChunk {
 public:
  RowChunk(const TensorParallelShard& shard, std::int64_t local_rows, std::int64_t begin, std::int64_t end)
      : runs_(end - begin == local_rows ? 1 : shard.num_row_ranks()),
        length_((end - begin) * shard.num_row_ranks() / runs_),
        begin_(begin),
        local_rows_(local_rows),
        before_(begin * shard.num_row_ranks()) {}

  int num_runs() const { return runs_; }
  std::int64_t count() const { return length_ * runs_; }
  /// Return one run of a tensor of all rows (run_in_full) and of a tensor of these rows only (run_in_packed).
  Tensor run_in_full(const Tensor& full_R, int run) const {
    return full_R.rows(first(run), first(run) + length_);
  }
  /// Returns the index of the run's first row among all rows.
  std::int64_t first(int run) const { return local_rows_ * run + begin_; }
  std::int64_t length() const { return length_; }
  Tensor run_in_packed(const Tensor& together_R, int run) const {
    return together_R.rows(length_ * run, length_ * (run + 1));
  }
  /// Returns the place of these rows in memory for all rows, after the rows of lower ranges.
  Tensor place_in(const Tensor& memory_R) const { return memory_R.rows(before_, before_ + count()); }

  /// Returns memory for these rows together: their view of `full` if they are one run, else scratch
  /// memory. Returns an absent tensor for an absent `full`.
  Tensor packed_buffer(const Context& context, const Tensor& full_R) const;
  /// Copy the rows between the two tensors. Do nothing if there is one run, or if `full` is absent.
  void pack(const Context& context, const Tensor& full_R, const Tensor& together_R) const;
  void unpack(const Context& context, const Tensor& together_R, const Tensor& full_R) const;

 private:
  int runs_;
  std::int64_t length_;  // rows of a run
  std::int64_t begin_, local_rows_, before_;
};

}  // namespace dt::model
