#pragma once
// Gradient lanes: the fixed shape of the sum over a step's micro-batches, whoever computes which part of it.

#include <cstdint>
#include <vector>

#include "base/dtype.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// M micro-batches form L contiguous lanes: lane l holds ⌊lM/L⌋ … ⌊(l+1)M/L⌋−1. A lane sums in order; lanes
/// combine in a binary tree that halves [0, L) at its middle until single lanes are left. So every
/// power-of-two part of the lanes that divides L is a subtree, and a rank that holds it computes the same
/// bits. Lanes without micro-batches are not in the sum.
class LanePlan {
 public:
  LanePlan(std::int64_t num_micro_batches, std::int64_t num_lanes);
  std::int64_t num_lanes() const { return num_lanes_; }
  std::int64_t num_micro_batches() const { return static_cast<std::int64_t>(starts_lane_.size()); }
  bool starts_lane(std::int64_t micro_batch) const {
    return starts_lane_[static_cast<std::size_t>(micro_batch)];
  }
  /// How many times the two newest partial sums combine once this micro-batch is in.
  int combines_after(std::int64_t micro_batch) const {
    return combines_after_[static_cast<std::size_t>(micro_batch)];
  }
  /// The most partial sums alive at once.
  int depth() const { return depth_; }

 private:
  std::int64_t num_lanes_;
  std::vector<bool> starts_lane_;
  std::vector<int> combines_after_;
  int depth_ = 1;
};

/// One flat gradient under a LanePlan: micro-batches must come in order.
class GradientSum {
 public:
  GradientSum(std::int64_t numel, DType dtype, const LanePlan& plan);
  /// Where this micro-batch's gradient is to be added; zeroed at the start of a lane.
  Tensor current(const Context& context, std::int64_t micro_batch);
  /// Says that it has been added.
  void finish(const Context& context, std::int64_t micro_batch);
  /// The sum over all lanes, after the last micro-batch.
  Tensor total() const;
  std::size_t bytes() const;

 private:
  Tensor partial(int i) const;
  const LanePlan& plan_;
  std::int64_t numel_;
  DType dtype_;
  std::vector<Buffer> partials_;  // a stack; the first is the oldest
  int alive_ = 0;
};

}  // namespace dt::parallel
