#pragma once
// The CUDA C++ of kernels, for the host's compiler: included before each of their sources.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/numeric/dtype.hpp"
#include "device/fiber_block.hpp"
#include "device/test_device.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/cuda/launch/kernel_key.hpp"

// NOLINTBEGIN: these names are CUDA's
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define threadIdx (::dt::test_device::thread_index())
#define blockIdx (::dt::test_device::block_index())
#define blockDim (::dt::test_device::block_size())
#define gridDim (::dt::test_device::grid_size())

inline void __syncthreads() {
  dt::test_device::sync_threads();
}

inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) {
  dt::test_device::exchange(mask, 0, dt::test_device::own_lane());
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = dt::test_device::exchange(mask, bits, static_cast<unsigned>(lane));
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return __shfl_sync(mask, value, static_cast<int>(dt::test_device::own_lane()) ^ lanes);
}

/// Needs no atomic instruction: fibers take turns only where they wait for each other.
template <class T>
T atomicAdd(T* target, T value) {
  return std::exchange(*target, static_cast<T>(*target + value));
}

// 16-bit floats, defined as CUDA's headers do for the host.
struct float2 {
  float x, y;
};
struct __nv_bfloat162 {
  std::uint16_t x, y;
};
struct __half2 {
  std::uint16_t x, y;
};
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  const auto rounded = [](float value) {
    return value == value ? dt::f32_to_bf16(value) : std::uint16_t{0x7FFF};
  };
  return {rounded(x), rounded(y)};
}
inline __half2 __floats2half2_rn(float x, float y) {
  const auto rounded = [](float value) {
    return value == value ? dt::f32_to_f16(value) : std::uint16_t{0x7FFF};
  };
  return {rounded(x), rounded(y)};
}
inline float2 __half22float2(__half2 halves) {
  return {dt::f16_to_f32(halves.x), dt::f16_to_f32(halves.y)};
}

/// Returns a quotient as far from x / y as CUDA's guide allows: by 2 units in the last place, and 0 if y is
/// beyond 2^126.
inline float __fdividef(float x, float y) {
  if (std::abs(y) > 0x1p126F && std::isfinite(y)) return 0;
  constexpr float two_units = 2 * 0x1p-24F;  // units of the largest mantissas are the smallest
  return x / y * (1 + 2 * two_units);
}
// NOLINTEND

namespace dt::kernels::cuda {

inline std::byte* shared_bytes() {
  return test_device::shared_memory();
}

template <class... Parameters, class... Arguments>
void launch(const Context& context, const char* name, Grid grid, void (*kernel)(Parameters...),
            Arguments... arguments) {
  const std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...);
  const test_device::Dim3 blocks{grid.blocks, grid.blocks_y, 1};
  test_device::submit(context, key_of(grid, kernel, values),
                      {name, blocks, grid.threads, grid.shared_bytes, [=] { std::apply(kernel, values); }});
}

}  // namespace dt::kernels::cuda
