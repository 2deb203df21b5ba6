#include "base/exact_sum.hpp"
#include "base/exact_term.hpp"
#include "kernels/cuda/code.cuh"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/sums.cuh"

namespace dt::kernels::cuda {

namespace {

template <class T>
__global__ void add_elements(const T* a, const T* b, T* y, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    y[i] = T(load(a + i) + load(b + i));
}

template <class T>
__global__ void add_to_rows(const T* x, const T* bias, const T* residual, T* y, std::int64_t count,
                            std::int64_t N) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    Value<T> sum = load(x + i);
    if (bias != nullptr) sum += load(bias + i % N);
    if (residual != nullptr) sum += load(residual + i);
    y[i] = T(sum);
  }
}

template <class S, class T>
__global__ void accumulate_elements(const S* source, T* target, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    target[i] = T(load(target + i) + source[i]);
}

/// Between fp64 and the 16-bit floats by way of fp32.
template <class T, class S>
__device__ T converted(S value) {
  if constexpr (std::is_same_v<S, double> && std::is_same_v<T, double>) {
    return value;
  } else {
    return T(static_cast<float>(value));
  }
}

/// Columns of rows of any strides: a whole tensor is one row.
struct Strides {
  std::int64_t width, source, target;
};

template <class S, class T>
__global__ void convert_elements(const S* source, T* target, std::int64_t count, Strides strides) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    const std::int64_t r = i / strides.width, c = i % strides.width;
    target[r * strides.target + c] = converted<T>(source[r * strides.source + c]);
  }
}

template <class T>
__global__ void fill_elements(T* target, T value, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) target[i] = value;
}

template <class T>
__global__ void sum_squares(const T* x, double* partials, std::int64_t count) {
  const std::int64_t begin = blockIdx.x * sum_block_elements;
  const std::int64_t end = begin + sum_block_elements < count ? begin + sum_block_elements : count;
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const double value = load(x + i);
    sum += value * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

using Digit = unsigned long long;  // what CUDA adds atomically; two's complement
constexpr int num_digits = ExactSum::num_digits + 1;

/// Each block adds up its own terms first. Integers, so atomics leave no trace of their order.
__global__ void add_terms(const double* terms, std::int64_t count, Digit* digits) {
  Digit* const own = reinterpret_cast<Digit*>(shared_bytes());
  for (unsigned i = threadIdx.x; i < num_digits; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    const ExactTerm term = exact_term(terms[i]);
    if (!term.is_finite) atomicAdd(own + ExactSum::num_digits, Digit{1});
    for (int d = 0; d < 3; ++d) atomicAdd(own + term.first + d, static_cast<Digit>(term.digits[d]));
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < num_digits; i += blockDim.x) {
    if (own[i] != 0) atomicAdd(digits + i, own[i]);
  }
}

}  // namespace

void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y) {
  with_elements(y.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "add", grid_for(y.numel()), add_elements<T>, a.data<T>(), b.data<T>(), y.data<T>(),
           y.numel());
  });
}

void add_bias_residual(const Context& context, const Tensor& x_RN, const Tensor& bias_N,
                       const Tensor& residual_RN, const Tensor& y_RN) {
  with_elements(x_RN.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "add_bias_residual", grid_for(x_RN.numel()), add_to_rows<T>, x_RN.data<T>(),
           elements<T>(bias_N), elements<T>(residual_RN), y_RN.data<T>(), x_RN.numel(), x_RN.dim(1));
  });
}

void accumulate(const Context& context, const Tensor& source, const Tensor& target) {
  with_elements(target.dtype(), [&](auto element) {
    using T = decltype(element);
    using S = Value<T>;
    launch(context, "accumulate", grid_for(target.numel()), accumulate_elements<S, T>, source.data<S>(),
           target.data<T>(), target.numel());
  });
}

void convert_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                     std::int64_t width) {
  const std::int64_t count = source.rows_RS.dim(0) * width;
  with_elements(source.rows_RS.dtype(), [&](auto from) {
    with_elements(target.rows_RS.dtype(), [&](auto to) {
      using S = decltype(from);
      using T = decltype(to);
      launch(context, "convert_columns", grid_for(count), convert_elements<S, T>,
             source.rows_RS.data<S>() + source.first, target.rows_RS.data<T>() + target.first, count,
             Strides{width, source.rows_RS.dim(1), target.rows_RS.dim(1)});
    });
  });
}

void convert(const Context& context, const Tensor& source, const Tensor& target) {
  const auto as_row = [](const Tensor& tensor) {
    return ColumnBlock{tensor.reshaped({1, tensor.numel()}), 0};
  };
  cuda::convert_columns(context, as_row(source), as_row(target), source.numel());
}

void add_exactly(const Context& context, const Tensor& terms_N, const Tensor& digits_D) {
  constexpr unsigned most_blocks = 64;  // each adds all its digits to the same few
  Grid grid = grid_for(terms_N.numel());
  grid.blocks = std::min(grid.blocks, most_blocks);
  grid.shared_bytes = num_digits * sizeof(Digit);
  launch(context, "add_exactly", grid, add_terms, terms_N.data<double>(), terms_N.numel(),
         reinterpret_cast<Digit*>(digits_D.data<std::int64_t>()));
}

void fill(const Context& context, double value, const Tensor& target) {
  with_elements(target.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "fill", grid_for(target.numel()), fill_elements<T>, target.data<T>(),
           T(static_cast<Value<T>>(value)), target.numel());
  });
}

void sum_squares_by_block(const Context& context, const Tensor& x, const Tensor& partials_N) {
  const Grid grid = grid_for_sums<double>(static_cast<unsigned>(partials_N.numel()));
  with_elements(x.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "sum_squares_by_block", grid, sum_squares<T>, x.data<T>(), partials_N.data<double>(),
           x.numel());
  });
}

}  // namespace dt::kernels::cuda
