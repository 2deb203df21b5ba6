#include <algorithm>

#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/embedding.hpp"

namespace dt::kernels::cuda {

namespace {

// Threads go along the columns of a row, blocks take rows in turn.

__device__ std::int64_t first_column() {
  return static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t column_stride() {
  return static_cast<std::int64_t>(gridDim.y) * blockDim.x;
}

/// R rows of ids with C features, and the V rows of the table that are here.
struct LookUp {
  const std::int32_t* ids;
  std::int64_t R, V, C;
  DimShard shard;
};

template <class T>
__global__ void look_up(LookUp of, const T* table, bool add, T* y) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(of.R, of.C, [&](std::int64_t r, std::int64_t c, std::int64_t left) {
    const std::int64_t place = of.shard.local_index(of.ids[r], of.V);
    Vec<Value<T>, N> sum{};
    const auto take = [&](const T* p) {
      const auto values = load_vec<N>(p + c, left);
      for (int e = 0; e < N; ++e) sum.at[e] += values.at[e];
    };
    if (add) take(y + r * of.C);
    if (place >= 0) take(table + place * of.C);
    store_vec<N>(y + r * of.C + c, left, sum);
  });
}

// The gradient's rows are sorted by their place in the table, and rows of one place by the batch's
// order. So one thread for each column adds to each table row. A key holds the place and the row.
// Rows that are elsewhere come last.

using Key = std::uint64_t;

__device__ std::int64_t place_of(Key key) {
  return static_cast<std::int64_t>(key >> 32);
}
__device__ std::int64_t row_of(Key key) {
  return static_cast<std::int64_t>(key & 0xFFFFFFFFU);
}

/// Returns how many of the sorted keys are below `key`.
__device__ std::int64_t num_below(const Key* sorted, std::int64_t count, Key key) {
  std::int64_t begin = 0, end = count;
  while (begin < end) {
    const std::int64_t middle = (begin + end) / 2;
    if (sorted[middle] < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Sorts runs of keys. Each block sorts as many keys as it has threads. No two are equal, so a key's
/// place is the number of keys below it.
__global__ void sort_runs(LookUp of, Key* keys) {
  Key* const run = reinterpret_cast<Key*>(shared_bytes());
  const std::int64_t r = first_element();
  Key own = ~Key{0};
  if (r < of.R) {
    const std::int64_t place = of.shard.local_index(of.ids[r], of.V);
    own = static_cast<Key>(place < 0 ? of.V : place) << 32 | static_cast<Key>(r);
  }
  run[threadIdx.x] = own;
  __syncthreads();
  if (r >= of.R) return;
  unsigned below = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) below += run[i] < own ? 1 : 0;
  keys[r - threadIdx.x + below] = own;
}

/// Merges each two sorted runs, whose length is a power of two. A key moves up by the number of keys
/// of the other run that are below it.
__global__ void merge_runs(const Key* from, Key* to, std::int64_t count, std::int64_t run) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    const std::int64_t own = i & ~(run - 1), other = own ^ run, pair = own & other;
    const std::int64_t left = count - other;
    const std::int64_t others = left < 0 ? 0 : (left < run ? left : run);
    to[pair + (i - own) + num_below(from + other, others, from[i])] = from[i];
  }
}

/// Adds all rows of each place, by the block that has the place's first key.
template <class T, class G>
__global__ void add_rows(LookUp of, const Key* keys, const T* dy, G* dtable) {
  for (std::int64_t k = blockIdx.x; k < of.R; k += gridDim.x) {
    const std::int64_t place = place_of(keys[k]);
    if (place == of.V || (k > 0 && place_of(keys[k - 1]) == place)) continue;
    const std::int64_t count = num_below(keys + k, of.R - k, static_cast<Key>(place + 1) << 32);
    for (std::int64_t c = first_column(); c < of.C; c += column_stride()) {
      Value<G> sum = load(dtable + place * of.C + c);
      for (std::int64_t i = 0; i < count; ++i)
        sum += static_cast<Value<G>>(load(dy + row_of(keys[k + i]) * of.C + c));
      dtable[place * of.C + c] = rounded<G>(sum);
    }
  }
}

/// Returns the sorted keys, in one of the two memories, which have room for R keys each.
const Key* sorted_keys(const Context& context, const LookUp& of, Key* memory, Key* other) {
  launch(context, "embedding_backward", grid_for_sorted_keys(of.R, sizeof(Key)), sort_runs, of, memory);
  for (std::int64_t run = threads_per_block; run < of.R; run *= 2, std::swap(memory, other))
    launch(context, "embedding_backward", grid_for(of.R), merge_runs, memory, other, of.R, run);
  return memory;
}

}  // namespace

void embedding(const Context& context, const Tensor& ids_R, const Tensor& table_VC, bool add,
               const Tensor& y_RC, DimShard shard) {
  const LookUp of{ids_R.data<std::int32_t>(), ids_R.dim(0), table_VC.dim(0), table_VC.dim(1), shard};
  with_elements(y_RC.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "embedding", grid_for_vecs(vec_size<T>, of.R, of.C), look_up<T>, of, table_VC.data<T>(),
           add, y_RC.data<T>());
  });
}

void embedding_backward(const Context& context, const Tensor& ids_R, const Tensor& dy_RC,
                        const Tensor& dtable_VC, DimShard shard) {
  const LookUp of{ids_R.data<std::int32_t>(), ids_R.dim(0), dtable_VC.dim(0), dtable_VC.dim(1), shard};
  if (of.R == 0) return;
  const Arena::Scope scope(context.scratch());
  Key* const memory = context.scratch().allocate(DType::u64, {2, of.R}).data<Key>();
  const Key* const keys = sorted_keys(context, of, memory, memory + of.R);
  with_elements(dy_RC.dtype(), [&](auto element) {
    with_parameter_gradients(dtable_VC.dtype(), [&](auto gradient) {
      using T = decltype(element);
      using G = decltype(gradient);
      if constexpr (std::is_same_v<Value<T>, Value<G>>) {
        launch(context, "embedding_backward", grid_for_table_rows(of.R, of.C), add_rows<T, G>, of, keys,
               dy_RC.data<T>(), dtable_VC.data<G>());
      } else {
        DT_CHECK(false, "embedding_backward: there is no kernel for {} into {}", dtype_name(dy_RC.dtype()),
                 dtype_name(dtable_VC.dtype()));
      }
    });
  });
}

}  // namespace dt::kernels::cuda
