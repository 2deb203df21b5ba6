#include "kernels/cuda/launch/code.cuh"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

/// The type in which an element is combined; integers stay as they are.
template <class T>
using Combined = std::conditional_t<std::is_integral_v<T>, T, Value<T>>;

/// The inputs of ranks, as in RankInputs.
template <class T>
struct Inputs {
  const T* own;
  const T* others;
  std::int64_t stride;  // elements between slots
  int own_rank, num_ranks;

  __device__ Combined<T> at(int rank, std::int64_t i) const {
    const T* const slot = rank == own_rank ? own : others + (rank < own_rank ? rank : rank - 1) * stride;
    if constexpr (std::is_integral_v<T>) {
      return slot[i];
    } else {
      return load(slot + i);
    }
  }
};

/// The results of whole subtrees of 2^level ranks each, at most one of a level at a time. The levels
/// are compile-time constants, so that all results lie in registers.
template <class Op, class V, int levels>
class Subtrees {
 public:
  /// Adds a rank's value. The subtrees of the levels at which `rank` has a digit 1, below its lowest
  /// 0, lie left of it, the smallest next to it. They are combined as digits are carried in binary
  /// counting.
  template <int level = 0>
  __device__ void add(int rank, V sum) {
    if constexpr (level < levels) {
      if ((rank >> level & 1) != 0) return add<level + 1>(rank, Op::apply(of_[level], sum));
      of_[level] = sum;
    }
  }
  /// Returns the result over `ranks` ranks. Their number's digits 1 say which subtrees there are; the
  /// smallest is the rightmost.
  __device__ V total(int ranks) const { return from<0>(ranks); }

 private:
  template <int level>
  __device__ V from(int ranks) const {
    if constexpr (level < levels) {
      return (ranks >> level & 1) != 0 ? left_of<level + 1>(ranks, of_[level]) : from<level + 1>(ranks);
    }
    return V{};
  }
  template <int level>
  __device__ V left_of(int ranks, V sum) const {
    if constexpr (level < levels) {
      return left_of<level + 1>(ranks, (ranks >> level & 1) != 0 ? Op::apply(of_[level], sum) : sum);
    }
    return sum;
  }

  V of_[levels] = {};
};

template <class Op, class T, class Sum, int levels>
__global__ void combine_elements(Inputs<T> inputs, Sum* out, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    Subtrees<Op, Combined<T>, levels> subtrees;
    for (int rank = 0; rank < inputs.num_ranks; ++rank) subtrees.add(rank, inputs.at(rank, i));
    out[i] = rounded<Sum>(subtrees.total(inputs.num_ranks));
  }
}

/// Calls body(levels) with a constant that is enough for so many ranks: small if that suffices, since
/// each level takes a register.
template <class Body>
void with_levels(int num_ranks, const Body& body) {
  if (num_ranks < 1 << 8) return body(std::integral_constant<int, 8>());
  body(std::integral_constant<int, 31>());
}

/// Calls body(an input, a sum) with values of one dtype, or with one of them fp32 and the other a narrow
/// float.
template <class Body>
void with_sums(DType in, DType out, const Body& body) {
  visit_dtype(ReducibleTypes(), in, "GPU kernel for sums", [&](auto element) {
    using T = decltype(element);
    if (in == out) return body(element, element);
    if constexpr (is_narrow<T>) {
      visit_dtype(TypeList<float>(), out, "sum of narrow floats", [&](auto sum) { body(element, sum); });
    } else if constexpr (std::is_same_v<T, float>) {
      visit_dtype(NarrowFloatTypes(), out, "rounded sum", [&](auto sum) { body(element, sum); });
    } else {
      throw_unsupported(in, "sum of another type");
    }
  });
}

}  // namespace

void combine_ranks(const Context& context, Reduction reduction, const RankInputs& inputs,
                   const Tensor& out_N) {
  with_sums(inputs.own_N.dtype(), out_N.dtype(), [&](auto element, auto sum) {
    using T = decltype(element);
    using Sum = decltype(sum);
    const Inputs<T> from{inputs.own_N.data<T>(), inputs.others_RS.data<T>(), inputs.others_RS.dim(1),
                         inputs.own_rank, static_cast<int>(inputs.others_RS.dim(0)) + 1};
    with_reduction(reduction, [&](auto op) {
      with_levels(from.num_ranks, [&](auto levels) {
        launch(context, "combine_ranks", grid_for(out_N.numel()),
               combine_elements<decltype(op), T, Sum, levels()>, from, out_N.data<Sum>(), out_N.numel());
      });
    });
  });
}

}  // namespace dt::kernels::cuda
