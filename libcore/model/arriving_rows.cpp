#include "model/arriving_rows.hpp"

#include <algorithm>

namespace dt::model {

namespace {

constexpr std::size_t most_under_way = 2;

}  // namespace

ArrivingRows::ArrivingRows(const Context& context, const Seam& seam, const Tensor& local_LC,
                           const Tensor& all_RC)
    : context_(&context), seam_(&seam), local_rows_(local_LC.dim(0)), all_RC_(all_RC) {
  chunks_.push_back({RowsOfAll(seam.share(), local_rows_, 0, local_rows_), local_LC, all_RC, {}});
}

ArrivingRows::ArrivingRows(const Context& context, const Seam& seam, const Tensor& local_LC,
                           const Tensor& memory_RC, const Tensor& all_RC)
    : context_(&context), seam_(&seam), local_rows_(local_LC.dim(0)), all_RC_(all_RC) {
  for_chunks(local_rows_, seam.num_chunks(), [&](std::int64_t begin, std::int64_t end) {
    const RowsOfAll rows(seam.share(), local_rows_, begin, end);
    const bool is_in_place = rows.num_runs() == 1 && all_RC;
    chunks_.push_back({rows, local_LC.rows(begin, end), is_in_place ? all_RC : rows.place_in(memory_RC), {}});
  });
}

void ArrivingRows::start(std::size_t num_chunks) {
  for (; num_started_ < std::min(num_chunks, chunks_.size()); ++num_started_) {
    Chunk& chunk = chunks_[num_started_];
    chunk.arrives = seam_->start_gather(chunk.local, chunk.together);
  }
}

void ArrivingRows::start_all() {
  start(chunks_.size());
}

void ArrivingRows::wait_until(std::size_t num_chunks) {
  while (num_here_ < num_chunks) {
    start(num_here_ + most_under_way);
    Chunk& chunk = chunks_[num_here_++];
    wait(*context_, chunk.arrives);
    start(num_here_ + most_under_way);
    if (next_ && num_here_ + 1 >= chunks_.size()) next_->start_all();
    chunk.rows.copy_out(*context_, chunk.together, all_RC_);
  }
}

const Tensor& ArrivingRows::wait_for(std::int64_t begin) {
  while (num_here_ < chunks_.size() && begin % local_rows_ >= chunks_[num_here_].rows.first(0))
    wait_until(num_here_ + 1);
  return all_RC_;
}

const Tensor& ArrivingRows::all() {
  wait_until(chunks_.size());
  return all_RC_;
}

ArrivingRows arriving_rows(const Context& context, const Seam& seam, const Tensor& local_LC) {
  if (!seam.share().divides_rows) return ArrivingRows(local_LC);
  const auto all_rows = [&] {
    return context.scratch().allocate(local_LC.dtype(),
                                      {local_LC.dim(0) * seam.share().size, local_LC.dim(1)});
  };
  return ArrivingRows(context, seam, local_LC, all_rows(), all_rows());
}

}  // namespace dt::model
