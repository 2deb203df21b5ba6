#pragma once
// All rows of a tensor of which each rank has some, on their way to all of them.

#include <cstdint>
#include <vector>

#include "model/rows_of_all.hpp"
#include "model/seam.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Local rows [begin, end) of one chunk after the other, none of them empty: body(begin, end).
template <class Body>
void for_chunks(std::int64_t local_rows, int num, const Body& body) {
  for (int chunk = 0; chunk < num; ++chunk) {
    const Part part = part_of(chunk, num, local_rows);
    if (part.count > 0) body(part.begin, part.begin + part.count);
  }
}

/// In chunks, each of which may be used while the next travels. At most two are under way once they are
/// waited for, so that the first has the network nearly to itself. Where rows are not divided they are all
/// there. The memory that is handed in must stay until all have come.
class ArrivingRows {
 public:
  /// Rows that are not divided, or have arrived.
  explicit ArrivingRows(const Tensor& all_RC) : all_RC_(all_RC) {}
  /// In one chunk, to `all`.
  ArrivingRows(const Context& context, const Seam& seam, const Tensor& local_LC, const Tensor& all_RC);
  /// In the seam's chunks, each together in a part of `memory`, and from there to its places in `all`; which
  /// may be absent, for who takes them run by run.
  ArrivingRows(const Context& context, const Seam& seam, const Tensor& local_LC, const Tensor& memory_RC,
               const Tensor& all_RC);

  /// All, of which at least the chunk that row `begin` is among has come; waits for it.
  const Tensor& wait_for(std::int64_t begin);
  /// Starts every chunk, for who computes something else before it waits for one.
  void start_all();
  /// Starts `next` as soon as the last chunk but one has come, so that these come first.
  void set_next(ArrivingRows& next) { next_ = &next; }
  /// Waits for what has not come.
  const Tensor& all();

  /// One run of rows after the other, as they come: body(begin, end, they).
  template <class Body>
  void for_runs(const Body& body) {
    if (chunks_.empty()) return body(std::int64_t{0}, all_RC_.dim(0), all_RC_);
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      wait_until(chunk + 1);
      const auto& [rows, local, together, arrives] = chunks_[chunk];
      for (int run = 0; run < rows.num_runs(); ++run)
        body(rows.first(run), rows.first(run) + rows.length(), rows.run_of(together, run));
    }
  }

 private:
  struct Chunk {
    RowsOfAll rows;
    Tensor local, together;
    ExchangeHandle arrives;
  };
  void start(std::size_t num_chunks);
  void wait_until(std::size_t num_chunks);

  const Context* context_ = nullptr;
  const Seam* seam_ = nullptr;
  std::int64_t local_rows_ = 0;
  Tensor all_RC_;
  std::vector<Chunk> chunks_;
  std::size_t num_started_ = 0, num_here_ = 0;
  ArrivingRows* next_ = nullptr;
};

/// Themselves, or in the seam's chunks on their way into scratch memory.
ArrivingRows arriving_rows(const Context& context, const Seam& seam, const Tensor& local_LC);

}  // namespace dt::model
