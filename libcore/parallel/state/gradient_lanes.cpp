#include "parallel/state/gradient_lanes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::parallel {

namespace {

/// Returns ⌊part · total / parts⌋. The product may need more than 64 bits, as the number of lanes has
/// no bound.
std::int64_t share(std::int64_t part, std::int64_t total, std::int64_t parts) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(part) * total / parts);
}

}  // namespace

/// Lanes [lane_begin, lane_end) of the tree, and the step's micro-batches [begin, end) that they hold.
struct LanePlan::Node {
  std::int64_t lane_begin, lane_end;
  std::int64_t begin, end;
};

LanePlan::LanePlan(std::int64_t num_micro_batches, std::int64_t num_lanes)
    : LanePlan(num_micro_batches, num_lanes, 0, num_micro_batches) {
  DT_CHECK(num_sums_left_ == 1, "the lanes of a whole step leave {} sums", num_sums_left_);
}

LanePlan LanePlan::of_rank(std::int64_t rank, std::int64_t num_ranks) const {
  DT_CHECK(num_micro_batches() == step_micro_batches_, "only a whole step is divided among ranks");
  DT_CHECK(rank >= 0 && rank < num_ranks, "there is no rank {} of {}", rank, num_ranks);
  return LanePlan(step_micro_batches_, num_lanes_, share(rank, step_micro_batches_, num_ranks),
                  share(rank + 1, step_micro_batches_, num_ranks));
}

LanePlan::LanePlan(std::int64_t step_micro_batches, std::int64_t num_lanes, std::int64_t first,
                   std::int64_t last)
    : step_micro_batches_(step_micro_batches), num_lanes_(num_lanes), first_(first) {
  DT_CHECK(step_micro_batches > 0 && num_lanes > 0, "{} micro-batches in {} lanes", step_micro_batches,
           num_lanes);
  starts_sum_.assign(static_cast<std::size_t>(last - first), false);
  combines_after_.assign(static_cast<std::size_t>(last - first), 0);
  walk({0, num_lanes, 0, step_micro_batches});
  for (std::size_t i = 0; i < starts_sum_.size(); ++i) {
    if (starts_sum_[i]) depth_ = std::max(depth_, ++num_sums_left_);
    num_sums_left_ -= combines_after_[i];
  }
}

std::int64_t LanePlan::first_of_lane(std::int64_t lane) const {
  return share(lane, step_micro_batches_, num_lanes_);
}

/// Walks the tree. Descends only while this plan has micro-batches and there are sums to combine.
/// Its time thus does not depend on the number of empty lanes.
void LanePlan::walk(const Node& node) {
  const std::int64_t last = first_ + num_micro_batches();
  const std::int64_t begin = std::max(node.begin, first_), end = std::min(node.end, last);
  if (begin >= end) return;
  if (node.lane_end - node.lane_begin == 1 || node.end - node.begin == 1) {
    starts_sum_[index(begin)] = true;
    return;
  }
  const std::int64_t lane_middle = node.lane_begin + (node.lane_end - node.lane_begin) / 2;
  const std::int64_t middle = first_of_lane(lane_middle);
  walk({node.lane_begin, lane_middle, node.begin, middle});
  walk({lane_middle, node.lane_end, middle, node.end});
  const bool is_within = begin == node.begin && end == node.end;
  if (is_within && node.begin < middle && middle < node.end) ++combines_after_[index(end - 1)];
}

GradientSum::GradientSum(Device device, std::int64_t numel, DType dtype, const LanePlan& plan, Pages pages)
    : plan_(plan), numel_(numel), dtype_(dtype), pages_(device == Device::host() ? pages : Pages::huge) {
  for (int i = 0; i < std::max(1, plan.depth()); ++i) {
    partials_.emplace_back(device, storage_bytes(dtype, numel), pages);
  }
}

Tensor GradientSum::partial(int i) const {
  return Tensor(partials_[static_cast<std::size_t>(i)], dtype_, Shape{numel_});
}

bool GradientSum::is_complete() const {
  return next_ == plan_.first_micro_batch() + plan_.num_micro_batches();
}

void GradientSum::start(const Context& context) {
  num_partials_ = 0;
  next_ = plan_.first_micro_batch();
  is_adding_ = false;
  if (is_complete()) kernels::fill(context, -0.0, partial(num_partials_++));
}

Tensor GradientSum::accumulator(const Context& context, std::int64_t micro_batch) {
  DT_CHECK(next_ >= 0, "micro-batch {} before the step's start", micro_batch);
  DT_CHECK(micro_batch == next_ && !is_adding_ && !is_complete(), "micro-batch {} where {} {}", micro_batch,
           next_, is_adding_ ? "is not finished" : "is next");
  is_adding_ = true;
  if (plan_.starts_sum(micro_batch)) {
    if (pages_ == Pages::sparse) {
      partials_[static_cast<std::size_t>(num_partials_)].clear();
    } else {
      kernels::zero(context, partial(num_partials_));
    }
    ++num_partials_;
  }
  DT_CHECK(num_partials_ > 0, "micro-batch {} has no sum to be added to", micro_batch);
  return partial(num_partials_ - 1);
}

void GradientSum::finish(const Context& context, std::int64_t micro_batch) {
  DT_CHECK(is_adding_ && micro_batch == next_, "micro-batch {} is finished but was not begun", micro_batch);
  is_adding_ = false;
  ++next_;
  const int combines = is_complete() ? num_partials_ - 1 : plan_.combines_after(micro_batch);
  for (int i = 0; i < combines; ++i) {
    DT_CHECK(num_partials_ > 1, "micro-batch {} has {} sums to combine", micro_batch, num_partials_);
    --num_partials_;
    kernels::add(context, partial(num_partials_ - 1), partial(num_partials_), partial(num_partials_ - 1));
  }
}

void GradientSum::skip_all() {
  DT_CHECK(!is_adding_, "micro-batch {} is not finished", next_);
  next_ = plan_.first_micro_batch() + plan_.num_micro_batches();
  num_partials_ = 1;
}

Tensor GradientSum::total() const {
  DT_CHECK(is_complete() && num_partials_ == 1,
           "the sum over lanes is not complete: {} parts, micro-batch {} is next", num_partials_, next_);
  return partial(0);
}

std::size_t GradientSum::bytes() const {
  std::size_t total = 0;
  for (const Buffer& partial : partials_) total += partial.bytes();
  return total;
}

}  // namespace dt::parallel
