#pragma once
// An all-gather of rows in chunks, each of which may be used while the next travels.

#include <cstdint>
#include <vector>

#include "model/tensor_parallel/row_chunk.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

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

}  // namespace dt::model
