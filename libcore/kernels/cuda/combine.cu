#include "kernels/cuda/code.cuh"
#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

/// What an element is combined in: integers as they are.
template <class T>
using Combined = std::conditional_t<std::is_integral_v<T>, T, Value<T>>;

/// As RankInputs says it.
template <class T>
struct Inputs {
  const T* own;
  const T* others;
  std::int64_t stride;  // of slots
  int own_rank, num_ranks;

  __device__ Combined<T> at(int rank, std::int64_t i) const {
    if (rank == own_rank) return static_cast<Combined<T>>(own[i]);
    return static_cast<Combined<T>>(others[(rank < own_rank ? rank : rank - 1) * stride + i]);
  }
};

/// Ranks come one by one, as digits are carried when one counts in binary: whatever whole subtree has an
/// equal to its right is combined with it. What is left at the end are the tree's left sides, largest first.
template <class Op, class T>
__global__ void combine_elements(Inputs<T> inputs, T* out, std::int64_t count) {
  constexpr int most_levels = 31;
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    Combined<T> left[most_levels];
    int level = 0;
    for (int rank = 0; rank < inputs.num_ranks; ++rank) {
      Combined<T> sum = inputs.at(rank, i);
      for (int carry = rank; (carry & 1) != 0; carry >>= 1) sum = Op::apply(left[--level], sum);
      left[level++] = sum;
    }
    Combined<T> sum = left[--level];
    while (level > 0) sum = Op::apply(left[--level], sum);
    out[i] = T(sum);
  }
}

template <class Body>
void with_reducible(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::i32:
      return body(std::int32_t());
    case DType::i64:
      return body(std::int64_t());
    case DType::u32:
      return body(std::uint32_t());
    case DType::u64:
      return body(std::uint64_t());
    default:
      return with_elements(dtype, body);
  }
}

}  // namespace

void combine_ranks(const Context& context, Reduction reduction, const RankInputs& inputs,
                   const Tensor& out_N) {
  with_reducible(out_N.dtype(), [&](auto element) {
    using T = decltype(element);
    const Inputs<T> from{inputs.own_N.data<T>(), inputs.others_RS.data<T>(), inputs.others_RS.dim(1),
                         inputs.own_rank, static_cast<int>(inputs.others_RS.dim(0)) + 1};
    with_reduction(reduction, [&](auto op) {
      launch(context, "combine_ranks", grid_for(out_N.numel()), combine_elements<decltype(op), T>, from,
             out_N.data<T>(), out_N.numel());
    });
  });
}

}  // namespace dt::kernels::cuda
