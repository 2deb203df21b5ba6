#pragma once
// Gradient lanes: the fixed shape of the sum over a step's micro-batches, whichever ranks compute its
// parts.

#include <cstdint>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// M micro-batches form L contiguous lanes: lane l holds ⌊lM/L⌋ … ⌊(l+1)M/L⌋−1. A lane sums in order.
/// Lanes combine in a binary tree that halves [0, L) at its middle until single lanes are left. Lanes
/// without micro-batches are not in the sum, and cost nothing.
///
/// A plan says what one holder of consecutive micro-batches does: the whole step, or a data-parallel
/// rank's part of the same sum. A part combines the subtrees that lie wholly within it. If the number
/// of ranks is a power of two that divides L, that is one subtree. Combining the ranks' sums in the
/// same tree then gives the bits of the whole. Otherwise several sums are left. The part adds them
/// from the newest to the oldest before ranks combine theirs.
class LanePlan {
 public:
  LanePlan(std::int64_t num_micro_batches, std::int64_t num_lanes);
  /// Returns the plan of micro-batches ⌊rM/n⌋ … ⌊(r+1)M/n⌋−1 of a whole step's plan; they keep their
  /// numbers. May be empty.
  LanePlan of_rank(std::int64_t rank, std::int64_t num_ranks) const;

  std::int64_t first_micro_batch() const { return first_; }
  std::int64_t num_micro_batches() const { return static_cast<std::int64_t>(starts_sum_.size()); }
  /// Returns whether a lane, or the part of one that this plan holds, begins with this micro-batch.
  bool starts_sum(std::int64_t micro_batch) const { return starts_sum_[index(micro_batch)]; }
  /// Returns how many times the two newest partial sums combine once this micro-batch is in.
  int combines_after(std::int64_t micro_batch) const { return combines_after_[index(micro_batch)]; }
  /// Returns the most partial sums alive at once.
  int depth() const { return depth_; }
  /// Returns the number of partial sums after the last micro-batch: one for a whole step, none
  /// without micro-batches.
  int num_final_partials() const { return num_sums_left_; }

 private:
  struct Node;
  LanePlan(std::int64_t step_micro_batches, std::int64_t num_lanes, std::int64_t first, std::int64_t last);
  std::int64_t first_of_lane(std::int64_t lane) const;
  void walk(const Node& node);
  std::size_t index(std::int64_t micro_batch) const { return static_cast<std::size_t>(micro_batch - first_); }

  std::int64_t step_micro_batches_;
  std::int64_t num_lanes_;
  std::int64_t first_;
  std::vector<bool> starts_sum_;
  std::vector<int> combines_after_;
  int depth_ = 0;
  int num_sums_left_ = 0;
};

/// One flat gradient under a LanePlan, which must outlive it. Without micro-batches it is the neutral
/// element of addition, −0 everywhere, so that a rank with nothing to add changes no bit of the
/// others' sum.
class GradientSum {
 public:
  /// Sparse pages are for gradients that are mostly zero.
  GradientSum(Device device, std::int64_t numel, DType dtype, const LanePlan& plan,
              Pages pages = Pages::huge);
  /// Begins a step, and drops the previous step's sum. Then call current and finish, in turn, for
  /// each of the plan's micro-batches in order.
  void start(const Context& context);
  /// Returns the tensor to which this micro-batch's gradient is added. It is zeroed if a sum starts.
  Tensor accumulator(const Context& context, std::int64_t micro_batch);
  /// Marks this micro-batch's gradient as added.
  void finish(const Context& context, std::int64_t micro_batch);
  /// Counts all of the plan's micro-batches as added, whatever the memory of their sum holds.
  void skip_all();
  /// Returns the sum after the last micro-batch.
  Tensor total() const;
  std::size_t bytes() const;

 private:
  Tensor partial(int i) const;
  bool is_complete() const;
  const LanePlan& plan_;
  std::int64_t numel_;
  DType dtype_;
  Pages pages_;
  std::vector<Buffer> partials_;  // a stack; the first is the oldest
  int num_partials_ = 0;
  std::int64_t next_ = -1;  // next micro-batch; none before the first start
  bool is_adding_ = false;  // between current and finish
};

}  // namespace dt::parallel
