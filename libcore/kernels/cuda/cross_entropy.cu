#include <cmath>
#include <limits>

#include "kernels/cross_entropy.hpp"
#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"

namespace dt::kernels::cuda {

namespace {

/// The number of blocks that an SM runs at once. For fp64 two would need too many registers.
template <class T>
constexpr unsigned blocks_at_once = std::is_same_v<T, double> ? 1 : loss_blocks_at_once;

/// Returns e^x for x ≤ 0. For 16-bit logits it is a power of two, which is 0 below 2^−126.
template <class T>
__device__ Value<T> exponential(Value<T> x) {
  if constexpr (is_narrow<T>) return power_of_two(x * log2_e);
  return std::exp(x);
}

template <class T>
struct Rows {
  T* logits;
  const std::int32_t* labels;
  std::int64_t R, V, pitch;
  DimShard columns;

  __device__ T* row(std::int64_t r) const { return logits + r * pitch; }
  __device__ bool has_target(std::int64_t r) const { return labels[r] >= 0; }
  /// Returns the label's place among these logits, or −1 if it is none of them.
  __device__ std::int64_t place(std::int64_t r) const { return columns.local_index(labels[r], V); }
  /// Returns the label's logit. It is 0 if it is not among these, and NaN if the label does not
  /// exist, so that it shows.
  __device__ T at_label(std::int64_t r) const {
    if (place(r) >= 0) return row(r)[place(r)];
    const bool is_elsewhere = labels[r] < columns.total;
    return rounded<T>(is_elsewhere ? 0 : std::numeric_limits<Value<T>>::quiet_NaN());
  }
};

template <class T>
Rows<T> rows_of(const Tensor& logits_RV, const Tensor& labels_R, DimShard columns) {
  return {logits_RV.data<T>(), labels_R.data<std::int32_t>(),
          logits_RV.dim(0),    logits_RV.dim(1),
          logits_RV.pitch(),   columns};
}

/// Calls body(column, number of logits from there on, their values) for this thread's vectors of the
/// row of its block. Several vectors are under way at once if they are whole.
template <class T, class Body>
__device__ void for_logits(const T* logits, std::int64_t V, const Body& body) {
  constexpr int N = vec_size<T>, at_once = is_narrow<T> ? 4 : 2;
  const int step = static_cast<int>(blockDim.x) * N, end = static_cast<int>(V),
            whole = is_full_vec<N>(logits, N) ? end - end % N : 0;  // number of columns in whole vectors
  int v = static_cast<int>(threadIdx.x) * N;
  for (; v < whole; v += at_once * step) {
    Elements<T, N> loaded[at_once];
    for (int i = 0; i < at_once; ++i) {
      loaded[i] = {};
      if (v + i * step < whole) loaded[i] = load_elements<N>(logits + v + i * step, FullVec());
    }
    for (int i = 0; i < at_once; ++i) {
      if (v + i * step < whole) body(v + i * step, FullVec(), widened<T, N>(loaded[i]));
    }
  }
  const int threads = static_cast<int>(blockDim.x), first = whole / N,  // first vector of the others
      own = first + (static_cast<int>(threadIdx.x) + threads - first % threads) % threads;
  for (v = own * N; v < end; v += step) body(v, std::int64_t{end - v}, load_vec<N>(logits + v, end - v));
}

/// The type in which a vector is summed. A vector of 16-bit logits is summed in fp32 first: GPUs convert
/// few values to fp64 at a time.
template <class T>
using SumOfPack = std::conditional_t<is_narrow<T>, float, double>;

/// Returns the sum over the whole block, in one pass.
template <class T>
__device__ SumOfExponentials sum_of_exponentials(const T* logits, std::int64_t V) {
  constexpr int N = vec_size<T>;
  Value<T> shift = std::numeric_limits<Value<T>>::lowest();  // finite, so that logits of −∞ add 0
  double sum = 0;
  for_logits(logits, V, [&](std::int64_t, auto left, Vec<Value<T>, N> x) {
    if (left < N) {
      for (int e = 0; e < N; ++e) {
        if (e >= left) x.at[e] = -std::numeric_limits<Value<T>>::infinity();
      }
    }
    Value<T> highest = x.at[0];
    for (int e = 1; e < N; ++e) highest = fmax(highest, x.at[e]);
    if (highest > shift) {
      sum *= exponential<T>(shift - highest);
      shift = highest;
    }
    SumOfPack<T> of_pack = 0;
    for (int e = 0; e < N; ++e) of_pack += exponential<T>(x.at[e] - shift);
    sum += of_pack;
  });
  const Value<T> highest = block_max(shift);
  return {highest, block_sum(sum * exponential<T>(shift - highest))};
}

template <class T>
__device__ PartialLoss part_of_row(const Rows<T>& rows, std::int64_t r) {
  if (!rows.has_target(r)) return {};
  const T at_label = rows.at_label(r);  // before another thread writes its gradient
  const SumOfExponentials exponentials = sum_of_exponentials(rows.row(r), rows.V);
  return {exponentials, load(&at_label)};
}

/// Returns the part that one thread combines for the whole block.
__device__ PartialLoss part_of_parts(const double* parts_N3R, std::int64_t N, std::int64_t R,
                                     std::int64_t r) {
  PartialLoss* const shared = reinterpret_cast<PartialLoss*>(shared_bytes());
  if (threadIdx.x == 0) *shared = combine_partial_losses(parts_N3R, N, R, r);
  __syncthreads();
  return *shared;
}

/// The losses that a kernel writes, and their gradient: nll alone, without a cap.
struct PlainLoss {
  double scale;
  double* nll;

  __device__ double softmax_factor(const SumOfExponentials&) const { return 1; }
  template <class V>
  __device__ V slope(V) const {
    return 1;
  }
  __device__ void store(std::int64_t r, bool is_target, const PartialLoss& whole) const {
    nll[r] = is_target ? whole.nll() : 0;
  }
};

/// The same, with z-loss or a cap.
struct ExtendedLoss {
  double scale, z_coefficient;
  double inverse_cap;  // 0 without a cap
  double *nll, *squared_lse;

  __device__ double softmax_factor(const SumOfExponentials& all) const {
    return all.softmax_factor(z_coefficient);
  }
  /// Returns the derivative of a logit by what the cap takes. A logit may have been rounded beyond the
  /// cap; the slope is then 0.
  template <class V>
  __device__ V slope(V logit) const {
    const V tanh = fmax(V(-1), fmin(V(1), logit * static_cast<V>(inverse_cap)));
    return 1 - tanh * tanh;
  }
  __device__ void store(std::int64_t r, bool is_target, const PartialLoss& whole) const {
    nll[r] = is_target ? whole.nll() : 0;
    if (squared_lse) squared_lse[r] = is_target ? whole.exponentials.squared_log() : 0;
  }
};

ExtendedLoss extended_loss(const LossGradient& gradient, const TokenLosses& losses) {
  return {gradient.scale, gradient.z_coefficient, gradient.softcap == 0 ? 0 : 1 / gradient.softcap,
          losses.nll_R.data<double>(), elements<double>(losses.squared_lse_R)};
}
bool is_plain(const LossGradient& gradient, const TokenLosses& losses) {
  return gradient.z_coefficient == 0 && gradient.softcap == 0 && !losses.squared_lse_R;
}

template <class T, class Loss>
__device__ void set_gradient(const Rows<T>& rows, std::int64_t r, const PartialLoss& whole,
                             const Loss& loss) {
  constexpr int N = vec_size<T>;
  const double of_softmax = loss.softmax_factor(whole.exponentials);
  const auto shift = static_cast<Value<T>>(whole.exponentials.shift);
  const auto factor = static_cast<Value<T>>(loss.scale * of_softmax / whole.exponentials.sum);
  const std::int64_t label = rows.place(r);
  T* const logits = rows.row(r);
  for_logits(logits, rows.V, [&](std::int64_t v, auto left, Vec<Value<T>, N> values) {
    for (auto& value : values.at) value = exponential<T>(value - shift) * factor * loss.slope(value);
    store_vec_streaming<N>(logits + v, left, values);
  });
  if (label >= 0 && label / N % blockDim.x == threadIdx.x)  // this thread has written it
    logits[label] = rounded<T>(static_cast<Value<T>>((std::exp(-whole.nll()) * of_softmax - 1) * loss.scale *
                                                     loss.slope(whole.label_logit)));
}

template <class T>
__device__ void set_no_gradient(const Rows<T>& rows, std::int64_t r) {
  constexpr int N = vec_size<T>;
  for (std::int64_t v = threadIdx.x * N; v < rows.V; v += blockDim.x * N)
    store_vec<N>(rows.row(r) + v, rows.V - v, Vec<Value<T>, N>{});
}

/// Writes the row's losses and its gradient.
template <class T, class Loss>
__device__ void finish_row(const Rows<T>& rows, std::int64_t r, const PartialLoss& whole, const Loss& loss) {
  if (threadIdx.x == 0) loss.store(r, rows.has_target(r), whole);
  if (rows.has_target(r)) {
    set_gradient(rows, r, whole, loss);
  } else {
    set_no_gradient(rows, r);
  }
}

template <class T>
__global__ void __launch_bounds__(loss_threads, blocks_at_once<T>)
    loss_of_rows(Rows<T> rows, double* nll, double* squared_lse) {
  const std::int64_t r = blockIdx.x;
  if (r >= rows.R) return;
  const PartialLoss whole = part_of_row(rows, r);
  if (threadIdx.x == 0) ExtendedLoss{0, 0, 0, nll, squared_lse}.store(r, rows.has_target(r), whole);
}

template <class T>
__global__ void __launch_bounds__(loss_threads, blocks_at_once<T>)
    gradient_of_rows(Rows<T> rows, double scale, double* nll) {
  const std::int64_t r = blockIdx.x;
  if (r < rows.R) finish_row(rows, r, part_of_row(rows, r), PlainLoss{scale, nll});
}
template <class T>
__global__ void __launch_bounds__(loss_threads, blocks_at_once<T>)
    extended_gradient_of_rows(Rows<T> rows, ExtendedLoss loss) {
  const std::int64_t r = blockIdx.x;
  if (r < rows.R) finish_row(rows, r, part_of_row(rows, r), loss);
}

template <class T>
__global__ void __launch_bounds__(loss_threads, blocks_at_once<T>)
    parts_of_rows(Rows<T> rows, double* part_3R) {
  const std::int64_t r = blockIdx.x;
  if (r >= rows.R) return;
  const PartialLoss part = part_of_row(rows, r);
  if (threadIdx.x == 0) store_partial_loss(part_3R, rows.R, r, part);
}

__global__ void loss_of_parts(const double* parts_N3R, std::int64_t N, const std::int32_t* labels,
                              std::int64_t R, double* nll, double* squared_lse) {
  const ExtendedLoss loss{0, 0, 0, nll, squared_lse};
  for (std::int64_t r = first_element(); r < R; r += element_stride())
    loss.store(r, labels[r] >= 0, combine_partial_losses(parts_N3R, N, R, r));
}

template <class T>
__global__ void __launch_bounds__(loss_threads, blocks_at_once<T>)
    gradient_of_parts(const double* parts_N3R, std::int64_t N, Rows<T> rows, double scale, double* nll) {
  const std::int64_t r = blockIdx.x;
  if (r < rows.R) finish_row(rows, r, part_of_parts(parts_N3R, N, rows.R, r), PlainLoss{scale, nll});
}
template <class T>
__global__ void __launch_bounds__(loss_threads, blocks_at_once<T>)
    extended_gradient_of_parts(const double* parts_N3R, std::int64_t N, Rows<T> rows, ExtendedLoss loss) {
  const std::int64_t r = blockIdx.x;
  if (r < rows.R) finish_row(rows, r, part_of_parts(parts_N3R, N, rows.R, r), loss);
}

}  // namespace

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const TokenLosses& losses) {
  with_elements(logits_RV.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "cross_entropy", grid_for_loss(logits_RV.dim(0)), loss_of_rows<T>,
           rows_of<T>(logits_RV, labels_R, {}), losses.nll_R.data<double>(),
           elements<double>(losses.squared_lse_R));
  });
}

void cross_entropy_gradient(const Context& context, const Tensor& labels_R, const LossGradient& gradient,
                            const TokenLosses& losses, const Tensor& logits_RV) {
  with_elements(logits_RV.dtype(), [&](auto element) {
    using T = decltype(element);
    const char* const name = "cross_entropy_gradient";
    const Grid grid = grid_for_loss(logits_RV.dim(0));
    const Rows<T> rows = rows_of<T>(logits_RV, labels_R, {});
    if (is_plain(gradient, losses))
      launch(context, name, grid, gradient_of_rows<T>, rows, gradient.scale, losses.nll_R.data<double>());
    else
      launch(context, name, grid, extended_gradient_of_rows<T>, rows, extended_loss(gradient, losses));
  });
}

void cross_entropy_partial(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                           DimShard columns, const Tensor& part_3R) {
  with_elements(logits_RV.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "cross_entropy_part", grid_for_loss(logits_RV.dim(0)), parts_of_rows<T>,
           rows_of<T>(logits_RV, labels_R, columns), part_3R.data<double>());
  });
}

void cross_entropy_from_partials(const Context& context, const Tensor& parts_N3R, const Tensor& labels_R,
                                 const TokenLosses& losses) {
  launch(context, "cross_entropy_of_parts", grid_for(labels_R.numel()), loss_of_parts,
         parts_N3R.data<double>(), parts_N3R.dim(0), labels_R.data<std::int32_t>(), labels_R.numel(),
         losses.nll_R.data<double>(), elements<double>(losses.squared_lse_R));
}

void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns,
                                          const LossGradient& gradient, const TokenLosses& losses,
                                          const Tensor& logits_RV) {
  with_elements(logits_RV.dtype(), [&](auto element) {
    using T = decltype(element);
    const char* const name = "cross_entropy_gradient_of_parts";
    const Grid grid = grid_for_loss(logits_RV.dim(0));
    const double* const parts = parts_N3R.data<double>();
    const std::int64_t N = parts_N3R.dim(0);
    const Rows<T> rows = rows_of<T>(logits_RV, labels_R, columns);
    if (is_plain(gradient, losses))
      launch(context, name, grid, gradient_of_parts<T>, parts, N, rows, gradient.scale,
             losses.nll_R.data<double>());
    else
      launch(context, name, grid, extended_gradient_of_parts<T>, parts, N, rows,
             extended_loss(gradient, losses));
  });
}

}  // namespace dt::kernels::cuda
