#pragma once
// Matrix products that tensor-parallel ranks divide. A column-parallel product computes some of the
// output features on each rank from all input features. In a row-parallel product each rank has
// some of the input features, and the ranks' products are summed. The ranks never exchange the
// tensors between the two. A product may be computed in chunks of rows, so that one chunk is
// exchanged while the next is multiplied. No bit depends on the chunks.
// Source: Shoeybi et al. 2019, section 3.
// Legend: R rows, L this rank's rows where tensors are not split by features (see TensorParallelOps), C
// features that all ranks have, F features that the ranks divide.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

/// Calls body(begin, end) for local rows [begin, end) of each of `num` chunks in turn. Skips empty
/// chunks.
template <class Body>
void for_chunks(std::int64_t local_rows, int num, const Body& body) {
  for (int chunk = 0; chunk < num; ++chunk) {
    const Range part = even_range(chunk, num, local_rows);
    if (part.count > 0) body(part.begin, part.begin + part.count);
  }
}

/// An all-gather of rows in chunks. At most two chunks are in flight once the caller waits for
/// them, so that the first has the network nearly to itself. If the ranks do not divide rows, all
/// rows are present from the start. The tensors and the memory that the caller passes must stay
/// valid until all rows have arrived.
class AsyncAllGather {
 public:
  /// Wraps rows that the ranks do not divide, or that have arrived.
  explicit AsyncAllGather(const Tensor& all_RC) : all_RC_(all_RC) {}
  /// Gathers the rows to `all` in one chunk.
  AsyncAllGather(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC,
                 const Tensor& all_RC);
  /// Gathers the rows in the chunks of `ops`. The rows of each chunk are contiguous in a part of
  /// `memory`, and are copied from there to their places in `all`. `all` may be absent for a caller
  /// that uses for_runs().
  AsyncAllGather(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC,
                 const Tensor& memory_RC, const Tensor& all_RC);

  /// Waits for the chunk that contains row `begin`, and returns all rows. Later chunks may not have
  /// arrived.
  const Tensor& wait_for(std::int64_t begin);
  /// Starts every chunk. Call it if other computation comes before the first wait.
  void start_all();
  /// Starts the gather `next` once all chunks but the last have arrived, so that this gather's rows
  /// arrive first.
  void set_next(AsyncAllGather& next) { next_ = &next; }
  /// Waits for all rows and returns them.
  const Tensor& all();

  /// Calls body(begin, end, rows) for each run of rows in turn, as it arrives.
  template <class Body>
  void for_runs(const Body& body) {
    if (chunks_.empty()) return body(std::int64_t{0}, all_RC_.dim(0), all_RC_);
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      wait_until(chunk + 1);
      const auto& [rows, local, together, arrives] = chunks_[chunk];
      for (int run = 0; run < rows.num_runs(); ++run)
        body(rows.first(run), rows.first(run) + rows.length(), rows.run_in_packed(together, run));
    }
  }

 private:
  struct Chunk {
    RowChunk rows;
    Tensor local, packed;
    PendingCollectiveHandle pending;
  };
  void start(std::size_t num_chunks);
  void wait_until(std::size_t num_chunks);

  const Context* context_ = nullptr;
  const TensorParallelOps* ops_ = nullptr;
  std::int64_t local_rows_ = 0;
  Tensor all_RC_;
  std::vector<Chunk> chunks_;
  std::size_t num_started_ = 0, num_arrived_ = 0;
  AsyncAllGather* next_ = nullptr;
};

/// Returns `local` if the ranks do not divide rows; otherwise a gather into scratch memory in the
/// chunks of `ops`.
AsyncAllGather all_gather_rows_async(const Context& context, const TensorParallelOps& ops,
                                     const Tensor& local_LC);

/// Returns `local` if ranks do not divide rows; otherwise all rows, gathered into scratch memory.
/// Blocks.
Tensor all_gather_rows(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC);
/// Computes the sum over the ranks of their `partial`, and writes this rank's rows to `local`.
/// Blocks.
void reduce_rows(const Context& context, const TensorParallelOps& ops, const Tensor& partial_RC,
                 const Tensor& local_LC);
/// Returns memory for a rank's partial products of all rows until they are summed. It is `local`,
/// or scratch memory if `local` has fewer rows.
Tensor partial_sum_buffer(const Context& context, const TensorParallelOps& ops, std::int64_t rows,
                          const Tensor& local_LC);

/// Computes rows [begin, end) of a product's operand, just before they are multiplied and while
/// other rows travel.
using ComputeRows = std::function<void(std::int64_t begin, std::int64_t end)>;
/// Work that overlaps the exchange of a product's last rows; may be absent.
using OverlappedWork = std::function<void()>;
/// Calls `make` for all of `rows` rows, in the same ranges and order as row_parallel().
void for_product_chunks(const TensorParallelOps& ops, std::int64_t rows, const ComputeRows& make);

/// Computes y_RF = x_RC · w_FCᵀ + bias_F. The bias may be absent.
void column_parallel(const Context& context, const TensorParallelOps& ops, const Tensor& x_LC,
                     const Tensor& w_FC, const Tensor& bias_F, const Tensor& y_RF);
/// Computes dx_LC = Σ over the ranks of dy_RF · w_FC. dx may not alias dy. `make_dy`, if given,
/// computes dy.
void column_parallel_backward_input(const Context& context, const TensorParallelOps& ops, const Tensor& dy_RF,
                                    const Tensor& w_FC, const Tensor& dx_LC, const ComputeRows& make_dy,
                                    const OverlappedWork& overlapped_work);

/// Computes y_LC = residual_LC + bias_C + Σ over the ranks of x_RF · w_CFᵀ. Bias and residual may
/// be absent. y may alias neither x nor the residual. `make_x`, if given, computes x.
void row_parallel(const Context& context, const TensorParallelOps& ops, const Tensor& x_RF,
                  const Tensor& w_CF, const Tensor& bias_C, const Tensor& residual_LC, const Tensor& y_LC,
                  const ComputeRows& make_x = {});
/// Computes dx_RF = dy_RC · w_CF, chunk by chunk as dy arrives.
void row_parallel_backward_input(const Context& context, AsyncAllGather& dy_RC, const Tensor& w_CF,
                                 const Tensor& dx_RF);
/// Computes dw_CF += dy_RCᵀ · x_RF and, if present, dbias_C += Σ over rows of dy. If ranks divide
/// rows, dbias sums over this rank's rows, so that each rank has a part of that sum.
void row_parallel_backward_weight(const Context& context, const TensorParallelOps& ops, const Tensor& dy_RC,
                                  const Tensor& x_RF, const Tensor& dw_CF, const Tensor& dbias_C);

/// Returns a view of the parts stacked along their outermost dim: q, k and v, or gate and up.
/// Errors: internal if a part does not begin at the end of the previous part.
Tensor fused_view(std::span<const Tensor> parts);

}  // namespace dt::model
