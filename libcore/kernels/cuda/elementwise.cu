#include "base/numeric/exact_sum.hpp"
#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"

namespace dt::kernels::cuda {

namespace {

template <class T>
__global__ void add_elements(const T* a, const T* b, T* y, std::int64_t count) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    auto sum = load_vec<N>(a + i, left);
    const auto added = load_vec<N>(b + i, left);
    for (int e = 0; e < N; ++e) sum.at[e] += added.at[e];
    store_vec<N>(y + i, left, sum);
  });
}

/// Computes y = scale · x + residual. `residual` may be null.
template <class T>
__global__ void scale_add_elements(const T* x, const T* residual, T* y, Value<T> scale, std::int64_t count) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    const auto values = load_vec<N>(x + i, left);
    Vec<Value<T>, N> sum{};
    if (residual != nullptr) sum = load_vec<N>(residual + i, left);
    for (int e = 0; e < N; ++e) sum.at[e] += scale * values.at[e];
    store_vec<N>(y + i, left, sum);
  });
}

template <class S, class T>
__global__ void accumulate_elements(const S* source, T* target, std::int64_t count) {
  constexpr int N = vec_size<S>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    auto sum = load_vec<N>(target + i, left);
    const auto added = load_vec<N>(source + i, left);
    for (int e = 0; e < N; ++e) sum.at[e] += added.at[e];
    store_vec<N>(target + i, left, sum);
  });
}

template <class T>
__global__ void add_to_rows(const T* x, const T* bias, const T* residual, T* y, std::int64_t R,
                            std::int64_t C) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(R, C, [&](std::int64_t r, std::int64_t c, std::int64_t left) {
    auto sum = load_vec<N>(x + r * C + c, left);
    const auto add = [&](const T* p) {
      const auto added = load_vec<N>(p, left);
      for (int e = 0; e < N; ++e) sum.at[e] += added.at[e];
    };
    if (bias != nullptr) add(bias + c);
    if (residual != nullptr) add(residual + r * C + c);
    store_vec<N>(y + r * C + c, left, sum);
  });
}

/// Columns of R rows. `source` and `target` are the distances from each row to the next.
struct Strided {
  std::int64_t R, width, source, target;
};

template <class S, class T>
__global__ void convert_rows(const S* source, T* target, Strided rows) {
  constexpr int N = std::min(vec_size<S>, vec_size<T>);
  for_vecs<N>(rows.R, rows.width, [&](std::int64_t r, std::int64_t c, std::int64_t left) {
    store_vec<N>(target + r * rows.target + c, left, load_vec<N>(source + r * rows.source + c, left));
  });
}

template <class T>
__global__ void fill_elements(T* target, T value, std::int64_t count) {
  constexpr int N = vec_size<T>;
  Vec<Value<T>, N> values;
  for (auto& element : values.at) element = static_cast<Value<T>>(value);
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) { store_vec<N>(target + i, left, values); });
}

/// Computes the sum of squares of one block of elements. The thread block's threads take vectors in
/// turn.
template <class T>
__global__ void sum_squares(const T* x, double* partials, std::int64_t count) {
  constexpr int N = vec_size<T>;
  const std::int64_t begin = blockIdx.x * sum_block_elements;
  const std::int64_t end = begin + sum_block_elements < count ? begin + sum_block_elements : count;
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.x * N; i < end; i += blockDim.x * N) {
    for (const double value : load_vec<N>(x + i, end - i).at) sum += value * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

using Digit = unsigned long long;  // type that CUDA adds atomically; two's complement
constexpr int num_digits = ExactSum::num_digits + 1;

/// Digits of each warp: those of a sum, the count of terms that are not finite, and as many more as a
/// term that begins there would reach.
constexpr int digits_of_warp = num_digits + 2;

/// Adds terms exactly. Terms of lanes that begin at the same digit are summed first; then one lane
/// adds the sum to the warp's digits. So no two threads of a block add to the same shared memory,
/// where GPUs have no 64-bit atomic addition. The digits are integers, so the order of the atomic
/// additions to `digits` does not matter.
__global__ void add_terms(const double* terms, std::int64_t count, Digit* digits) {
  Digit* const of_block = reinterpret_cast<Digit*>(shared_bytes());
  for (unsigned i = threadIdx.x; i < warps_per_block * digits_of_warp; i += blockDim.x) of_block[i] = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % warp_size;
  Digit* const own = of_block + threadIdx.x / warp_size * digits_of_warp;
  for (std::int64_t i = first_element(); i - lane < count; i += element_stride()) {
    ExactTerm term = exact_term(i < count ? terms[i] : 0);
    if (!term.is_finite) term = {.first = ExactSum::num_digits, .digits = {1}};
    int pending = i < count ? term.first : num_digits;
    for (int first = warp_min(pending); first < num_digits; first = warp_min(pending)) {
      const bool is_here = pending == first;
      for (int d = 0; d < 3; ++d) {
        const Digit sum = warp_sum(is_here ? static_cast<Digit>(term.digits[d]) : Digit{0});
        if (lane == 0) own[first + d] += sum;
      }
      if (is_here) pending = num_digits;
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < num_digits; i += blockDim.x) {
    Digit sum = 0;
    for (int warp = 0; warp < warps_per_block; ++warp) sum += of_block[warp * digits_of_warp + i];
    if (sum != 0) atomicAdd(digits + i, sum);
  }
}

}  // namespace

void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y) {
  with_elements(y.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "add", grid_for_vecs(vec_size<T>, y.numel()), add_elements<T>, a.data<T>(), b.data<T>(),
           y.data<T>(), y.numel());
  });
}

void add_bias_residual(const Context& context, const Tensor& x_RN, const Tensor& bias_N,
                       const Tensor& residual_RN, const Tensor& y_RN) {
  with_elements(x_RN.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "add_bias_residual", grid_for_vecs(vec_size<T>, x_RN.dim(0), x_RN.dim(1)), add_to_rows<T>,
           x_RN.data<T>(), elements<T>(bias_N), elements<T>(residual_RN), y_RN.data<T>(), x_RN.dim(0),
           x_RN.dim(1));
  });
}

void scale_add(const Context& context, double scale, const Tensor& x, const Tensor& residual,
               const Tensor& y) {
  with_elements(y.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "scale_add", grid_for_vecs(vec_size<T>, y.numel()), scale_add_elements<T>, x.data<T>(),
           elements<T>(residual), y.data<T>(), static_cast<Value<T>>(scale), y.numel());
  });
}

void accumulate(const Context& context, const Tensor& source, const Tensor& target) {
  with_parameter_gradients(target.dtype(), [&](auto gradient) {
    using T = decltype(gradient);
    using S = Value<T>;
    launch(context, "accumulate", grid_for_vecs(vec_size<S>, target.numel()), accumulate_elements<S, T>,
           source.data<S>(), target.data<T>(), target.numel());
  });
}

void cast_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                  std::int64_t width) {
  with_elements(source.rows_RS.dtype(), [&](auto from) {
    with_elements(target.rows_RS.dtype(), [&](auto to) {
      using S = decltype(from);
      using T = decltype(to);
      const Strided rows{source.rows_RS.dim(0), width, source.rows_RS.dim(1), target.rows_RS.dim(1)};
      launch(context, "convert_columns", grid_for_vecs(std::min(vec_size<S>, vec_size<T>), rows.R, width),
             convert_rows<S, T>, source.rows_RS.data<S>() + source.first,
             target.rows_RS.data<T>() + target.first, rows);
    });
  });
}

void cast(const Context& context, const Tensor& source, const Tensor& target) {
  const auto as_row = [](const Tensor& tensor) {
    return ColumnBlock{tensor.reshaped({1, tensor.numel()}), 0};
  };
  cuda::cast_columns(context, as_row(source), as_row(target), source.numel());
}

void accumulate_exact(const Context& context, const Tensor& terms_N, const Tensor& digits_D) {
  const Grid grid = grid_for_exact_sums(terms_N.numel(), digits_of_warp * sizeof(Digit));
  launch(context, "add_exactly", grid, add_terms, terms_N.data<double>(), terms_N.numel(),
         reinterpret_cast<Digit*>(digits_D.data<std::int64_t>()));
}

void fill(const Context& context, double value, const Tensor& target) {
  with_elements(target.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "fill", grid_for_vecs(vec_size<T>, target.numel()), fill_elements<T>, target.data<T>(),
           T(static_cast<Value<T>>(value)), target.numel());
  });
}

void sum_squares_by_block(const Context& context, const Tensor& x, const Tensor& partials_N) {
  const Grid grid = grid_for_sums(partials_N.numel(), sizeof(double));
  with_elements(x.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "sum_squares_by_block", grid, sum_squares<T>, x.data<T>(), partials_N.data<double>(),
           x.numel());
  });
}

}  // namespace dt::kernels::cuda
