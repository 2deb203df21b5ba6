#include <algorithm>
#include <bit>

#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/column_sums.cuh"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/head_norm.hpp"

namespace dt::kernels::cuda {

namespace {

/// The groups of all rows. `rows` are x in the forward pass, dy in the backward pass, from the groups'
/// first column on, S columns a row. `sums` are sums of squares or of products; as inputs they may be
/// null.
template <class T>
struct HeadNormTensors {
  T* rows;
  T* x;
  const T* weight;
  Value<T>*sums, *rstd;
  std::int64_t groups, width, S, count;  // count: groups of all rows
  double mean_width, eps, added;         // added: to weights
  std::int64_t lanes;                    // threads of a group: some of a warp, if not the block

  __device__ std::int64_t begin(std::int64_t n) const { return n / groups * S + n % groups * width; }
};

/// The threads of a group: a power of two of a warp's lanes.
struct OfLanes {
  int lanes;
  template <class T>
  __device__ explicit OfLanes(const HeadNormTensors<T>& p) : lanes(static_cast<int>(p.lanes)) {}
  __device__ std::int64_t group() const {
    return static_cast<std::int64_t>(blockIdx.x) * (threads_per_block / lanes) + threadIdx.x / lanes;
  }
  __device__ int lane() const { return static_cast<int>(threadIdx.x) % lanes; }
  /// Returns the sum over the group's threads. All threads of the warp call it.
  template <class V>
  __device__ V sum(V value) const {
    for (int apart = lanes / 2; apart > 0; apart /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, apart);
    return value;
  }
  __device__ void synchronise() const { __syncwarp(); }
};

/// The threads of a group: all of a block.
struct OfWholeBlock {
  static constexpr int lanes = threads_per_block;
  template <class T>
  __device__ explicit OfWholeBlock(const HeadNormTensors<T>&) {}
  __device__ std::int64_t group() const { return blockIdx.x; }
  __device__ int lane() const { return static_cast<int>(threadIdx.x); }
  template <class V>
  __device__ V sum(V value) const {
    return block_sum(value);
  }
  __device__ void synchronise() const { __syncthreads(); }
};

/// Calls body(first feature, number of features from there on) for this thread's vectors of group n, if
/// there is one.
template <class T, class Threads, class Body>
__device__ void for_features(const HeadNormTensors<T>& p, const Threads& threads, std::int64_t n,
                             const Body& body) {
  constexpr int N = vec_size<T>;
  if (n >= p.count) return;
  for (std::int64_t i = threads.lane() * N; i < p.width; i += threads.lanes * N) body(i, p.width - i);
}

/// The sum of x² over a group's features.
struct Squares {
  template <class T, class Threads>
  static __device__ Value<T> sum(const HeadNormTensors<T>& p, const Threads& threads, std::int64_t n) {
    constexpr int N = vec_size<T>;
    Value<T> sum = 0;
    for_features(p, threads, n, [&](std::int64_t i, std::int64_t left) {
      const auto x = load_vec<N>(p.rows + p.begin(n) + i, left);
      for (const Value<T> value : x.at) sum += value * value;
    });
    return threads.sum(sum);
  }
};

/// The sum of dy · weight · x over a group's features.
struct Products {
  template <class T, class Threads>
  static __device__ Value<T> sum(const HeadNormTensors<T>& p, const Threads& threads, std::int64_t n) {
    constexpr int N = vec_size<T>;
    const auto added = static_cast<Value<T>>(p.added);
    Value<T> sum = 0;
    for_features(p, threads, n, [&](std::int64_t i, std::int64_t left) {
      const auto dy = load_vec<N>(p.rows + p.begin(n) + i, left),
                 x = load_vec<N>(p.x + n * p.width + i, left), weight = load_vec<N>(p.weight + i, left);
      for (int e = 0; e < N; ++e) sum += dy.at[e] * (weight.at[e] + added) * x.at[e];
    });
    return threads.sum(sum);
  }
};

template <class Threads, class Terms, class T>
__global__ void sum_heads(HeadNormTensors<T> p) {
  const Threads threads(p);
  const std::int64_t n = threads.group();
  const Value<T> sum = Terms::sum(p, threads, n);
  if (n < p.count && threads.lane() == 0) p.sums[n] = sum;
}

template <class Threads, class T>
__global__ void normalise_heads(HeadNormTensors<T> p) {
  using V = Value<T>;
  constexpr int N = vec_size<T>;
  const Threads threads(p);
  const std::int64_t n = threads.group();
  V squares = 0;
  if (p.sums == nullptr)
    squares = Squares::sum(p, threads, n);
  else if (n < p.count)
    squares = p.sums[n];
  const V rstd = 1 / std::sqrt(squares / static_cast<V>(p.mean_width) + static_cast<V>(p.eps));
  const auto added = static_cast<V>(p.added);
  for_features(p, threads, n, [&](std::int64_t i, std::int64_t left) {
    auto x = load_vec<N>(p.rows + p.begin(n) + i, left);
    const auto weight = load_vec<N>(p.weight + i, left);
    store_vec<N>(p.x + n * p.width + i, left, x);
    for (int e = 0; e < N; ++e) x.at[e] = x.at[e] * rstd * (weight.at[e] + added);
    store_vec<N>(p.rows + p.begin(n) + i, left, x);
  });
  threads.synchronise();  // all have read the sums, in whose place rstd may be
  if (n < p.count && threads.lane() == 0) p.rstd[n] = rstd;
}

template <class Threads, class T>
__global__ void backward_of_heads(HeadNormTensors<T> p) {
  using V = Value<T>;
  constexpr int N = vec_size<T>;
  const Threads threads(p);
  const std::int64_t n = threads.group();
  V products = 0, rstd = 0;
  if (p.sums == nullptr) products = Products::sum(p, threads, n);
  if (n < p.count) {
    if (p.sums != nullptr) products = p.sums[n];
    rstd = p.rstd[n];
  }
  const V mean = products / static_cast<V>(p.mean_width) * rstd;
  const auto added = static_cast<V>(p.added);
  for_features(p, threads, n, [&](std::int64_t i, std::int64_t left) {
    auto dy = load_vec<N>(p.rows + p.begin(n) + i, left);
    const auto x = load_vec<N>(p.x + n * p.width + i, left), weight = load_vec<N>(p.weight + i, left);
    for (int e = 0; e < N; ++e) dy.at[e] = rstd * (dy.at[e] * (weight.at[e] + added) - x.at[e] * rstd * mean);
    store_vec<N>(p.rows + p.begin(n) + i, left, dy);
  });
}

/// Sums dy · x · rstd of each feature over runs of groups. A block has a vector of features for each
/// lane. Its warps take groups in turn.
template <class T>
__global__ void __launch_bounds__(threads_per_block, blocks_of_columns_at_once)
    weights_of_runs(HeadNormTensors<T> p, std::int64_t run_groups, Value<T>* sums) {
  using V = Value<T>;
  constexpr int N = vec_size<T>;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * warp_size * N,
                     i = first + threadIdx.x % warp_size * N, run = blockIdx.y, begin = run * run_groups,
                     end = begin + run_groups < p.count ? begin + run_groups : p.count;
  Vec<V, N> sum{};
  if (i < p.width) {
    for (std::int64_t n = begin + own_row(); n < end; n += warps_per_block) {
      const auto dy = load_vec<N>(p.rows + p.begin(n) + i, p.width - i),
                 x = load_vec<N>(p.x + n * p.width + i, p.width - i);
      const V rstd = p.rstd[n];
      for (int e = 0; e < N; ++e) sum.at[e] += dy.at[e] * (x.at[e] * rstd);
    }
  }
  auto* const of_warps = reinterpret_cast<Vec<V, N>*>(shared_bytes());
  of_warps[threadIdx.x] = sum;
  __syncthreads();
  const auto* const values = reinterpret_cast<const V*>(of_warps);
  const unsigned own = threadIdx.x;
  if (own >= warp_size * N || first + own >= p.width) return;
  V whole = values[own];
  for (int warp = 1; warp < warps_per_block; ++warp) whole += values[warp * warp_size * N + own];
  sums[run * p.width + first + own] = whole;
}

/// Tensors of a call; absent ones are not used.
struct Operands {
  const Tensor &weight_W, &x_RN, &sums_RG, &rstd_RG;
};

template <class T>
HeadNormTensors<T> tensors_of(const HeadNorm& norm, const Columns& columns, const Operands& operands) {
  const std::int64_t vecs = ceil_div(norm.width, vec_size<T>);
  const auto lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(vecs)));
  return {.rows = columns.rows_RS.data<T>() + columns.first,
          .x = elements<T>(operands.x_RN),
          .weight = elements<T>(operands.weight_W),
          .sums = elements<Value<T>>(operands.sums_RG),
          .rstd = elements<Value<T>>(operands.rstd_RG),
          .groups = norm.groups,
          .width = norm.width,
          .S = columns.rows_RS.dim(1),
          .count = columns.rows_RS.dim(0) * norm.groups,
          .mean_width = static_cast<double>(norm.mean_width),
          .eps = norm.eps,
          .added = norm.plus_one ? 1.0 : 0.0,
          .lanes = std::min<std::int64_t>(lanes, warp_size)};
}

/// Launches the kernel that has some lanes for a group, or the one that has a block for it.
template <class T>
void launch_for_groups(const Context& context, const char* name, const HeadNormTensors<T>& p,
                       void (*of_lanes)(HeadNormTensors<T>), void (*of_block)(HeadNormTensors<T>)) {
  const bool is_of_block = norm_row(vec_size<T>, p.width).threads != warp_size;
  const std::int64_t blocks = is_of_block ? p.count : ceil_div(p.count * p.lanes, threads_per_block);
  launch(context, name, grid_for_sums(blocks, sizeof(Value<T>)), is_of_block ? of_block : of_lanes, p);
}

}  // namespace

void head_norm_squares(const Context& context, const HeadNorm& norm, const Columns& x,
                       const Tensor& squares_RG) {
  if (squares_RG.numel() == 0) return;
  with_elements(x.rows_RS.dtype(), [&](auto element) {
    using T = decltype(element);
    launch_for_groups(context, "head_norm_squares", tensors_of<T>(norm, x, {{}, {}, squares_RG, {}}),
                      sum_heads<OfLanes, Squares, T>, sum_heads<OfWholeBlock, Squares, T>);
  });
}

void head_norm(const Context& context, const HeadNorm& norm, const Tensor& weight_W, const Tensor& squares_RG,
               const Columns& x, const Tensor& x_RN, const Tensor& rstd_RG) {
  if (rstd_RG.numel() == 0) return;
  with_elements(x.rows_RS.dtype(), [&](auto element) {
    using T = decltype(element);
    launch_for_groups(context, "head_norm", tensors_of<T>(norm, x, {weight_W, x_RN, squares_RG, rstd_RG}),
                      normalise_heads<OfLanes, T>, normalise_heads<OfWholeBlock, T>);
  });
}

void head_norm_products(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Columns& dy, const Tensor& x_RN, const Tensor& products_RG) {
  if (products_RG.numel() == 0) return;
  with_elements(dy.rows_RS.dtype(), [&](auto element) {
    using T = decltype(element);
    launch_for_groups(context, "head_norm_products",
                      tensors_of<T>(norm, dy, {weight_W, x_RN, products_RG, {}}),
                      sum_heads<OfLanes, Products, T>, sum_heads<OfWholeBlock, Products, T>);
  });
}

/// The weight's gradient comes first, as dx takes dy's place.
void head_norm_backward(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Tensor& products_RG, const Columns& dy, const Tensor& x_RN,
                        const Tensor& rstd_RG, const Tensor& dweight_W) {
  constexpr const char* name = "head_norm_backward";
  if (rstd_RG.numel() == 0) return;
  with_elements(dy.rows_RS.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    constexpr int N = vec_size<T>;
    const HeadNormTensors<T> p = tensors_of<T>(norm, dy, {weight_W, x_RN, products_RG, rstd_RG});
    const Arena::Scope scope(context.scratch());
    const Runs runs = runs_of_columns(N, p.count, p.width);
    const Tensor sums_NW = context.scratch().allocate(dtype_of<V>(), {runs.count, p.width});
    launch(context, name, grid_for_columns(N, p.width, runs.count, sizeof(V)), weights_of_runs<T>, p,
           runs.rows, sums_NW.data<V>());
    add_sums_of_runs(context, name, sums_NW, dweight_W);
    launch_for_groups(context, name, p, backward_of_heads<OfLanes, T>, backward_of_heads<OfWholeBlock, T>);
  });
}

}  // namespace dt::kernels::cuda
