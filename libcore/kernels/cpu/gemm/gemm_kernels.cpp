#include "kernels/cpu/gemm/gemm_kernels.hpp"

#include <limits>

#include "kernels/cpu/gemm/tile_bf16.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/gemm_kernels.cpp"
#include "kernels/cpu/gemm/gemm_pack.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <class T>
void finish_as(const Epilogue& job) {
  auto* c = static_cast<T*>(job.c);
  const auto* residual = static_cast<const T*>(job.residual);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const auto value = [&](std::int64_t j, auto lanes) HWY_ATTR {
      V v = hn::LoadU(floats, job.sums + r * job.sums_stride + j);
      if (job.bias) v = hn::Add(v, load(lanes, job.bias + j));
      if (residual) v = hn::Add(v, load(lanes, residual + j));
      return job.accumulate ? hn::Add(load(lanes, c + j), v) : v;
    };
    std::int64_t j = 0;
    for (; j + 2 * num_lanes <= job.columns; j += 2 * num_lanes) {
      store_next_two(value(j, All{}), value(j + num_lanes, All{}), c + j, job.nontemporal);
    }
    for_lanes(job.columns - j,
              [&](std::int64_t i, auto lanes) HWY_ATTR { store(lanes, value(j + i, lanes), c + j + i); });
    c += job.c_stride;
    if (residual) residual += job.residual_stride;
  }
}

void finish(const Epilogue& job) {
  with_elements(job.dtype, [&](auto element) HWY_ATTR { finish_as<decltype(element)>(job); });
}

void widen(DType dtype, const void* from, std::int64_t count, float* to) {
  with_elements(dtype, [&](auto element) HWY_ATTR {
    const auto* p = static_cast<const decltype(element)*>(from);
    for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, p + i), to + i); });
  });
}

/// An inner kernel of vectors, which prefetches first.
template <auto* TILE>
void multiply_after_fetch(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                          std::int64_t c_row, bool add, const Prefetch& prefetch) {
  prefetch.fetch(0, K);
  TILE(rows, K, a, b, c, c_row, add);
}

/// Returns the kernels for `tile`, an inner kernel of vectors.
GemmKernels with_vectors(Tile* tile, std::int64_t unit_elements) {
  constexpr std::int64_t columns = wide_vectors * num_lanes;
  return {.a = {tile_rows, Panels<tile_rows>::group, pack<tile_rows>},
          .b = {columns, Panels<columns>::group, pack<columns>},
          .tile = tile,
          .unit_elements = unit_elements,
          .unit_group = 1,
          .chain = vector_chain,
          .most_whole_units = 2048,
          .units_of_part = 10 * vector_chain,
          .most_block_units = std::int64_t{3} << 16,  // 768 KB, which stay in a thread's L2 cache
          .most_block_rows = 192,
          .fetches_c_to_write = true,
          .nontemporal_min_bytes = std::numeric_limits<std::int64_t>::max(),
          .run_epilogue = finish,
          .widen = widen};
}

GemmKernels gemm_kernels([[maybe_unused]] Arithmetic arithmetic) {
#if HWY_TARGET == HWY_AVX3
  if (arithmetic == Arithmetic::bf16) return with_vectors(multiply_after_fetch<multiply_wide_tile_bf16>, 2);
  if (arithmetic != Arithmetic::fp32) {
    return {.a = {2 * amx_rows, 2 * amx_rows, pack_tiles<true>},
            .b = {2 * amx_columns, 2 * amx_columns, pack_tiles<false>},
            .tile = arithmetic == Arithmetic::amx ? multiply_tiles_amx : multiply_tiles_by_loops,
            .unit_elements = 2,
            .unit_group = amx_units,
            .chain = tiles_chain,
            .most_whole_units = 1024,
            .units_of_part = 3 * tiles_chain,
            .most_block_units = std::int64_t{3} << 16,
            .most_block_rows = 512,
            .fetches_c_to_write = false,
            .nontemporal_min_bytes = std::int64_t{4} << 20,
            .run_epilogue = finish,
            .widen = widen};
  }
#endif
  return with_vectors(multiply_after_fetch<multiply_tile<wide_vectors>>, 1);
}

bool is_avx512() {
  return HWY_TARGET == HWY_AVX3;
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(gemm_kernels);
HWY_EXPORT(is_avx512);

GemmKernels gemm_kernels(Arithmetic arithmetic) {
  return HWY_DYNAMIC_DISPATCH(gemm_kernels)(arithmetic);
}

bool has_avx512() {
  return HWY_DYNAMIC_DISPATCH(is_avx512)();
}

}  // namespace dt::kernels::cpu
#endif
