#include "parallel/lanes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::parallel {

namespace {

struct LaneRange {
  std::int64_t begin;
  std::int64_t end;
};

/// Walks the tree over `lanes` and counts, per micro-batch, the additions that its completion makes possible.
/// `first_of` gives a lane's first micro-batch. Returns whether the range holds any micro-batch.
bool count_combines(LaneRange lanes, const std::vector<std::int64_t>& first_of,
                    std::vector<int>& combines_after) {
  const auto first = [&](std::int64_t lane) { return first_of[static_cast<std::size_t>(lane)]; };
  if (first(lanes.begin) == first(lanes.end)) return false;
  if (lanes.end - lanes.begin == 1) return true;
  const std::int64_t middle = lanes.begin + (lanes.end - lanes.begin) / 2;
  const bool left = count_combines({lanes.begin, middle}, first_of, combines_after);
  const bool right = count_combines({middle, lanes.end}, first_of, combines_after);
  if (left && right) ++combines_after[static_cast<std::size_t>(first(lanes.end) - 1)];
  return true;
}

}  // namespace

LanePlan::LanePlan(std::int64_t num_micro_batches, std::int64_t num_lanes) : num_lanes_(num_lanes) {
  DT_CHECK(num_micro_batches > 0 && num_lanes > 0, "{} micro-batches in {} lanes", num_micro_batches,
           num_lanes);
  std::vector<std::int64_t> first_of;
  for (std::int64_t lane = 0; lane <= num_lanes; ++lane)
    first_of.push_back(lane * num_micro_batches / num_lanes);

  starts_lane_.assign(static_cast<std::size_t>(num_micro_batches), false);
  for (std::int64_t lane = 0; lane < num_lanes; ++lane) {
    const auto first = static_cast<std::size_t>(first_of[static_cast<std::size_t>(lane)]);
    if (first < starts_lane_.size()) starts_lane_[first] = true;
  }
  combines_after_.assign(static_cast<std::size_t>(num_micro_batches), 0);
  count_combines({0, num_lanes}, first_of, combines_after_);

  int alive = 0;
  for (std::size_t m = 0; m < starts_lane_.size(); ++m) {
    if (starts_lane_[m]) depth_ = std::max(depth_, ++alive);
    alive -= combines_after_[m];
  }
  DT_CHECK(alive == 1, "lanes leave {} sums", alive);
}

GradientSum::GradientSum(std::int64_t numel, DType dtype, const LanePlan& plan)
    : plan_(plan), numel_(numel), dtype_(dtype) {
  for (int i = 0; i < plan.depth(); ++i) {
    partials_.emplace_back(Device{}, static_cast<std::size_t>(numel) * dtype_bytes(dtype));
  }
}

Tensor GradientSum::partial(int i) const {
  return Tensor(partials_[static_cast<std::size_t>(i)].data(), dtype_, Shape{numel_});
}

Tensor GradientSum::current(const Context& context, std::int64_t micro_batch) {
  if (micro_batch == 0) alive_ = 0;
  if (plan_.starts_lane(micro_batch)) kernels::zero(context, partial(alive_++));
  return partial(alive_ - 1);
}

void GradientSum::finish(const Context& context, std::int64_t micro_batch) {
  for (int i = 0; i < plan_.combines_after(micro_batch); ++i) {
    --alive_;
    kernels::add(context, partial(alive_ - 1), partial(alive_), partial(alive_ - 1));
  }
}

Tensor GradientSum::total() const {
  DT_CHECK(alive_ == 1, "the sum over lanes is not complete: {} parts", alive_);
  return partial(0);
}

std::size_t GradientSum::bytes() const {
  std::size_t total = 0;
  for (const Buffer& partial : partials_) total += partial.bytes();
  return total;
}

}  // namespace dt::parallel
