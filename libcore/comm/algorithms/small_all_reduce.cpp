#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/algorithms/algorithms.hpp"
#include "comm/core/reduction.hpp"

namespace dt::comm {

namespace {

// An all-reduce is small up to this size, or if the messages that each rank sends to each in a larger one
// would be no larger than that.
constexpr std::size_t small_bytes = std::size_t{16} << 10;
constexpr std::size_t small_message_bytes = 512;

/// Takes memory for `count` partial results.
std::vector<Tensor> take_partials(StagingPool::Block& block, const Caller& caller, const Tensor& in,
                                  std::size_t count) {
  const DType dtype = accumulator_dtype(in.dtype());
  const std::size_t bytes = static_cast<std::size_t>(in.numel()) * dtype_bytes(dtype);
  const std::size_t stride = round_up(bytes, line_bytes);
  block = caller.staging->acquire(count * stride);
  std::vector<Tensor> partials;
  for (std::size_t i = 0; i < count; ++i) {
    partials.emplace_back(*block, dtype, Shape{in.numel()}, i * stride);
  }
  return partials;
}

class Doubling {
 public:
  Doubling(const Caller& caller, const Tensor& in, const Tensor& out, Reduction reduction)
      : caller_(caller), out_(out), reduction_(reduction) {
    const std::vector<Tensor> partials = take_partials(block_, caller, in, 2);
    mine_ = partials[0];
    theirs_ = partials[1];
    cast(in, mine_);
  }

  /// Adds round k: ranks that differ in bit k alone hold the two halves of a node of the tree.
  bool operator()(int index, Round& round) const {
    const int bit = 1 << index;
    if (bit >= caller_.size) {
      cast(mine_, out_);
      return false;
    }
    const int peer = caller_.rank ^ bit;
    round.transfers.push_back({peer, theirs_.span_bytes(), false});
    round.transfers.push_back({peer, mine_.span_bytes(), true});
    round.then = [this, is_left = peer > caller_.rank] {
      const std::array halves = {is_left ? mine_ : theirs_, is_left ? theirs_ : mine_};
      combine(reduction_, halves, mine_);
    };
    return true;
  }

 private:
  Caller caller_;
  Tensor out_;
  Reduction reduction_;
  StagingPool::Block block_;
  Tensor mine_;
  Tensor theirs_;
};

class Tree {
 public:
  Tree(const Caller& caller, const Tensor& in, const Tensor& out, Reduction reduction)
      : out_(out), reduction_(reduction) {
    find_neighbours(caller);
    partials_ = take_partials(block_, caller, in, children_.size() + 1);
    cast(in, partials_[0]);
  }

  bool operator()(int index, Round& round) const {
    switch (index) {
      case 0:
        for (std::size_t i = 0; i < children_.size(); ++i) {
          round.transfers.push_back({children_[i], partials_[i + 1].span_bytes(), false});
        }
        round.then = [this] { combine_children(); };
        return true;
      case 1:
        if (parent_ >= 0) round.transfers.push_back({parent_, partials_[0].span_bytes(), true});
        return true;
      case 2:
        if (parent_ >= 0) round.transfers.push_back({parent_, out_.span_bytes(), false});
        return true;
      case 3:
        for (const int child : children_) round.transfers.push_back({child, out_.span_bytes(), true});
        return true;
      default:
        return false;
    }
  }

 private:
  /// Finds the parent and the children. Rank `begin` owns a node over [begin, end), and combines what
  /// `middle` sends. Children have the lowest node first.
  void find_neighbours(const Caller& caller) {
    int begin = 0;
    int end = caller.size;
    while (end - begin > 1) {
      const int middle = tree_split(begin, end);
      if (caller.rank == begin) children_.insert(children_.begin(), middle);
      if (caller.rank == middle) parent_ = begin;
      (caller.rank < middle ? end : begin) = middle;
    }
  }

  void combine_children() const {
    for (std::size_t i = 1; i < partials_.size(); ++i) {
      const std::array halves = {partials_[0], partials_[i]};
      combine(reduction_, halves, partials_[0]);
    }
    if (parent_ < 0) cast(partials_[0], out_);
  }

  Tensor out_;
  Reduction reduction_;
  int parent_ = -1;
  std::vector<int> children_;
  StagingPool::Block block_;
  std::vector<Tensor> partials_;  // this rank's, then its children's
};

}  // namespace

bool is_small_all_reduce(const Caller& caller, const Tensor& in) {
  const std::size_t most = std::max(small_bytes, small_message_bytes * static_cast<std::size_t>(caller.size));
  return caller.size > 1 && in.numel() > 0 && in.bytes() <= most;
}

Algorithm small_all_reduce_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                                     Reduction reduction) {
  // The sequences' callbacks refer to the sequences, and a std::function may copy them, so they are shared.
  if (std::has_single_bit(static_cast<unsigned>(caller.size))) {
    return {[=](std::size_t) -> RoundSequence {
      return [state = std::make_shared<const Doubling>(caller, in, out, reduction)](int index, Round& round) {
        return (*state)(index, round);
      };
    }};
  }
  return {[=](std::size_t) -> RoundSequence {
    return [state = std::make_shared<const Tree>(caller, in, out, reduction)](int index, Round& round) {
      return (*state)(index, round);
    };
  }};
}

}  // namespace dt::comm
