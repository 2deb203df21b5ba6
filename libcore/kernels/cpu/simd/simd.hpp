// Vectors of fp32 for every instruction set of the build, by Highway's dynamic dispatch. A source
// that uses this file first defines HWY_TARGET_INCLUDE as its own path. The source is then compiled
// once per instruction set, so that there is no #pragma once here. Code within HWY_ONCE is compiled
// once, and picks the best set that the machine has.

#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/simd.hpp"
#endif
// Two x86 sets beside the scalar baseline keep compile times low (AVX3 is AVX-512; Highway 1.0.3 fails to
// compile where -march makes AVX3_DL the baseline). SVE's vectors have no size at compile time, so they
// cannot lie in the arrays that the matrix kernels keep in registers; aarch64 uses NEON.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#include <cstdint>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/numeric/visit_dtype.hpp"
#include "kernels/element_types.hpp"

// Compiled once per instruction set, however often it is included.
#if defined(DT_KERNELS_CPU_SIMD_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_SIMD_TOGGLE
#undef DT_KERNELS_CPU_SIMD_TOGGLE
#else
#define DT_KERNELS_CPU_SIMD_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using V = hn::Vec<Floats>;
constexpr Floats floats;
constexpr std::int64_t num_lanes = hn::MaxLanes(floats);
static_assert(num_lanes <= 8 || HWY_TARGET == HWY_AVX3, "vectors of 16 floats are known as AVX-512 alone");

// The lanes that a load or store touches. Tails use First, with the same arithmetic as elsewhere,
// so that a value does not depend on its place in a buffer.
struct All {};
struct First {
  std::int64_t count;
};

HWY_INLINE V load(All, const float* p) {
  return hn::LoadU(floats, p);
}
HWY_INLINE void store(All, V v, float* p) {
  hn::StoreU(v, floats, p);
}

/// Lanes beyond the first `count` are zero.
HWY_INLINE V load(First first, const float* p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(floats, static_cast<std::size_t>(first.count)), floats, p);
#else  // masked loads would read beyond the end here
  HWY_ALIGN float lanes[num_lanes] = {};
  std::memcpy(lanes, p, static_cast<std::size_t>(first.count) * sizeof(float));
  return hn::Load(floats, lanes);
#endif
}
HWY_INLINE void store(First first, V v, float* p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(floats, static_cast<std::size_t>(first.count)), floats, p);
#else
  HWY_ALIGN float lanes[num_lanes];
  hn::Store(v, floats, lanes);
  std::memcpy(p, lanes, static_cast<std::size_t>(first.count) * sizeof(float));
#endif
}

// 16-bit elements are fp32 in registers. A store rounds to nearest, ties to even, and a NaN stays a
// NaN. (The instructions of AVX512_BF16 would flush subnormals; Highway's own conversion would
// truncate.)

using Halves = hn::Rebind<std::uint16_t, Floats>;
constexpr Halves halves;

HWY_INLINE V widen(hn::Vec<Halves> v, const BFloat16*) {
  constexpr hn::RebindToUnsigned<Floats> integers;
  return hn::BitCast(floats, hn::ShiftLeft<16>(hn::PromoteTo(integers, v)));
}
/// Returns v as bf16 in the high halves. A NaN stays a NaN if it comes from arithmetic with bf16.
/// Its lower half is then 0 or that of the CPU's own NaN.
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<Floats>> round_to_bf16(V v) {
  constexpr hn::RebindToUnsigned<Floats> integers;
  const auto bits = hn::BitCast(integers, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(integers, 1));
  return hn::Add(hn::Add(bits, hn::Set(integers, 0x7fff)), odd);
}
HWY_INLINE hn::Vec<Halves> narrow(V v, const BFloat16*) {
  constexpr hn::RebindToUnsigned<Floats> integers;
  const auto bits = hn::BitCast(integers, v);
  const auto quiet_nan = hn::Or(bits, hn::Set(integers, 0x400000));
  const auto high = hn::IfThenElse(hn::RebindMask(integers, hn::IsNaN(v)), quiet_nan, round_to_bf16(v));
#if HWY_TARGET == HWY_AVX3  // one instruction takes the high halves
  alignas(64) static constexpr std::uint16_t odd_places[32] = {1,  3,  5,  7,  9,  11, 13, 15,
                                                               17, 19, 21, 23, 25, 27, 29, 31};
  const __m512i taken = _mm512_permutexvar_epi16(_mm512_load_si512(odd_places), high.raw);
  return hn::Vec<Halves>{_mm512_castsi512_si256(taken)};
#else
  constexpr hn::RebindToSigned<Floats> signed_integers;
  return hn::DemoteTo(halves, hn::BitCast(signed_integers, hn::ShiftRight<16>(high)));
#endif
}

#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_TARGET == HWY_NEON
HWY_INLINE V widen(hn::Vec<Halves> v, const Float16*) {
  return hn::PromoteTo(floats, hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), v));
}
HWY_INLINE hn::Vec<Halves> narrow(V v, const Float16*) {
  return hn::BitCast(halves, hn::DemoteTo(hn::Rebind<hwy::float16_t, Floats>(), v));
}
#else  // no instruction for it
HWY_INLINE V widen(hn::Vec<Halves> v, const Float16*) {
  HWY_ALIGN std::uint16_t in[num_lanes];
  HWY_ALIGN float out[num_lanes];
  hn::Store(v, halves, in);
  for (std::int64_t i = 0; i < num_lanes; ++i) out[i] = f16_to_f32(in[i]);
  return hn::Load(floats, out);
}
HWY_INLINE hn::Vec<Halves> narrow(V v, const Float16*) {
  HWY_ALIGN float in[num_lanes];
  HWY_ALIGN std::uint16_t out[num_lanes];
  hn::Store(v, floats, in);
  for (std::int64_t i = 0; i < num_lanes; ++i) out[i] = f32_to_f16(in[i]);
  return hn::Load(halves, out);
}
#endif

template <class T>
concept Half = is_narrow<T>;

template <Half T>
HWY_INLINE V load(All, const T* p) {
  return widen(hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(p)), p);
}
template <Half T>
HWY_INLINE void store(All, V v, T* p) {
  hn::StoreU(narrow(v, p), halves, reinterpret_cast<std::uint16_t*>(p));
}
/// Lanes beyond the first `count` are zero.
template <Half T>
HWY_INLINE V load(First first, const T* p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const auto mask = hn::FirstN(halves, static_cast<std::size_t>(first.count));
  return widen(hn::MaskedLoad(mask, halves, reinterpret_cast<const std::uint16_t*>(p)), p);
#else
  HWY_ALIGN std::uint16_t lanes[num_lanes] = {};
  std::memcpy(lanes, p, static_cast<std::size_t>(first.count) * sizeof(T));
  return widen(hn::Load(halves, lanes), p);
#endif
}
template <Half T>
HWY_INLINE void store(First first, V v, T* p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const auto mask = hn::FirstN(halves, static_cast<std::size_t>(first.count));
  hn::BlendedStore(narrow(v, p), mask, halves, reinterpret_cast<std::uint16_t*>(p));
#else
  HWY_ALIGN std::uint16_t lanes[num_lanes];
  hn::Store(narrow(v, p), halves, lanes);
  std::memcpy(p, lanes, static_cast<std::size_t>(first.count) * sizeof(T));
#endif
}

// Two vectors of consecutive elements at a time, in the cheapest order: the even and the odd
// elements for bf16, else the first and the second vector.

struct OneOfTwo {};
struct OtherOfTwo {};

template <class T>
HWY_INLINE V load(OneOfTwo, const T* p) {
  return load(All{}, p);
}
template <class T>
HWY_INLINE V load(OtherOfTwo, const T* p) {
  return load(All{}, p + num_lanes);
}
template <class T>
HWY_INLINE void store_two(V one, V other, T* p) {
  store(All{}, one, p);
  store(All{}, other, p + num_lanes);
}
/// Does the same, bypassing the caches if `nontemporal`. p is then a multiple of a vector.
template <class T>
HWY_INLINE void store_two(V one, V other, T* p, bool) {
  store_two(one, other, p);
}
HWY_INLINE void store_two(V one, V other, float* p, bool nontemporal) {
  if (!nontemporal) return store_two(one, other, p);
  hn::Stream(one, floats, p);
  hn::Stream(other, floats, p + num_lanes);
}
/// Reorders two vectors at p, made from two of T's, into the order of the elements.
template <class T>
HWY_INLINE void order_two(const T*, float*) {}
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
using Words = hn::RebindToUnsigned<Floats>;
HWY_INLINE V even_of(hn::VFromD<Words> pairs) {
  return hn::BitCast(floats, hn::ShiftLeft<16>(pairs));
}
HWY_INLINE V odd_of(hn::VFromD<Words> pairs) {
  return hn::BitCast(floats, hn::And(pairs, hn::Set(Words(), 0xffff0000)));
}
HWY_INLINE V load(OneOfTwo, const BFloat16* p) {
  return even_of(hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(p)));
}
HWY_INLINE V load(OtherOfTwo, const BFloat16* p) {
  return odd_of(hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(p)));
}
HWY_INLINE void store_two(V even, V odd, BFloat16* p, bool nontemporal) {
  constexpr hn::Repartition<std::uint16_t, Floats> parts;
  const auto low = hn::ShiftRight<16>(round_to_bf16(even));
  const auto both =
      hn::BitCast(Words(), hn::OddEven(hn::BitCast(parts, round_to_bf16(odd)), hn::BitCast(parts, low)));
  auto* words = reinterpret_cast<std::uint32_t*>(p);
  if (nontemporal) return hn::Stream(both, Words(), words);
  hn::StoreU(both, Words(), words);
}
HWY_INLINE void store_two(V even, V odd, BFloat16* p) {
  store_two(even, odd, p, false);
}
HWY_INLINE void order_two(const BFloat16*, float* p) {
  hn::StoreInterleaved2(load(All{}, p), load(All{}, p + num_lanes), floats, p);
}
#endif

/// Stores two vectors of consecutive elements in their order. Bypasses the caches if `nontemporal`
/// and two T vectors are stored in one piece. p is then a multiple of that piece.
template <class T>
HWY_INLINE void store_next_two(V first, V second, T* p, bool) {
  store(All{}, first, p);
  store(All{}, second, p + num_lanes);
}
HWY_INLINE void store_next_two(V first, V second, float* p, bool nontemporal) {
  store_two(first, second, p, nontemporal);
}
#if HWY_TARGET == HWY_AVX3
HWY_INLINE void store_next_two(V first, V second, BFloat16* p, bool nontemporal) {
  const auto lower = narrow(first, p), upper = narrow(second, p);
  const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(lower.raw), upper.raw, 1);
  if (nontemporal) return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), both);
  _mm512_storeu_si512(p, both);
}
#endif

/// Calls body(T()) for the element type T of `dtype`. Functions that are picked at run time cannot
/// be templates.
template <class Body>
HWY_INLINE void with_elements(DType dtype, const Body& body) {
  visit_dtype(CpuTypes(), dtype, "CPU kernel", body);
}
/// Does the same for gradients of parameters.
template <class Body>
HWY_INLINE void with_gradients(DType dtype, const Body& body) {
  visit_dtype(CpuGradientTypes(), dtype, "CPU kernel for gradients", body);
}

/// Returns `v` in the lanes in use, `other` in the rest.
template <class Lanes>
HWY_INLINE V keep(Lanes, V v, V) {
  return v;
}
HWY_INLINE V keep(First first, V v, V other) {
  return hn::IfThenElse(hn::FirstN(floats, static_cast<std::size_t>(first.count)), v, other);
}

/// Calls body(i, lanes) for each vector of [0, count).
template <class Body>
HWY_INLINE void for_lanes(std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + num_lanes <= count; i += num_lanes) body(i, All{});
  if (i < count) body(i, First{count - i});
}

/// Prefetches the data that a loop over p will soon reach. The CPU's own prefetch falls behind in
/// loops with much computation.
template <class Lanes, class T>
HWY_INLINE void fetch_ahead(Lanes, const T* p) {
  __builtin_prefetch(reinterpret_cast<const char*>(p) + 2048, 0, 3);
}
template <class T>
HWY_INLINE void fetch_ahead(OneOfTwo, const T* p) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t i = 0; i < 2 * num_lanes; i += line) fetch_ahead(All{}, p + i);
}
template <class T>
HWY_INLINE void fetch_ahead(OtherOfTwo, const T*) {}

/// Calls term(i, lanes, sums), which adds a vector to its sums, for each vector of [0, count). Four
/// independent sets of sums hide the latency.
template <int N, class Term>
HWY_INLINE void accumulate(std::int64_t count, float (&totals)[N], Term term) {
  V sums[4][N];
  for (auto& set : sums) {
    for (V& sum : set) sum = hn::Zero(floats);
  }
  std::int64_t i = 0;
  for (; i + 4 * num_lanes <= count; i += 4 * num_lanes) {
    term(i, OneOfTwo{}, sums[0]);
    term(i, OtherOfTwo{}, sums[1]);
    term(i + 2 * num_lanes, OneOfTwo{}, sums[2]);
    term(i + 2 * num_lanes, OtherOfTwo{}, sums[3]);
  }
  for (; i + num_lanes <= count; i += num_lanes) term(i, All{}, sums[0]);
  if (i < count) term(i, First{count - i}, sums[0]);
  for (int n = 0; n < N; ++n) {
    const V total = hn::Add(hn::Add(sums[0][n], sums[1][n]), hn::Add(sums[2][n], sums[3][n]));
    totals[n] = hn::GetLane(hn::SumOfLanes(floats, total));
  }
}

/// Calls body(i) for the vectors that accumulate(count, …) processes in twos.
template <class Body>
HWY_INLINE void for_twos(std::int64_t count, Body body) {
  for (std::int64_t i = 0; i < count / (4 * num_lanes) * 4 * num_lanes; i += 2 * num_lanes) body(i);
}

// Given a number and a NaN, these return NaN as long as the NaN is second, as x86 instructions do.
HWY_INLINE V at_least(float limit, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(hn::Set(floats, limit), x));
#else
  return hn::Max(hn::Set(floats, limit), x);
#endif
}
HWY_INLINE V at_most(float limit, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(hn::Set(floats, limit), x));
#else
  return hn::Min(hn::Set(floats, limit), x);
#endif
}
/// Limits x to ±limit. NaN stays NaN.
HWY_INLINE V clamp(V x, float limit) {
  return at_most(limit, at_least(-limit, x));
}

/// Returns e^x for x ≤ 88; below −87 it is 0 or nearly 0. Unlike Highway's function, it returns NaN
/// for NaN, since a diverged run must show in the loss, and is shorter. With n = round(x/ln 2) and
/// r = x − n ln 2: e^x = 2ⁿ · e^r. e^r is the polynomial 1 + r + … of degree 5 with the least
/// relative error for |r| ≤ ½ ln 2, 1.1e-7.
/// Numerics: within 2 units in the last place.
HWY_INLINE V exponential(V x) {
  const auto f = [](float value) HWY_ATTR { return hn::Set(floats, value); };
#if HWY_TARGET == HWY_AVX3
  x = at_least(-104, x);
#endif
  constexpr float magic = 12582912;  // 1.5 · 2²³: adding it leaves n in the lowest bits
  const V shifted = hn::MulAdd(x, f(1.44269504f), f(magic));
  const V n = hn::Sub(shifted, f(magic));
  const V r = hn::NegMulAdd(n, f(-2.12194440e-4f), hn::NegMulAdd(n, f(0.693359375f), x));
  V p = hn::MulAdd(r, f(8.312501289e-3f), f(4.189033157e-2f));
  p = hn::MulAdd(r, p, f(1.666711539e-1f));
  p = hn::MulAdd(r, p, f(4.999923031e-1f));
  p = hn::MulAdd(r, p, f(1));
  p = hn::MulAdd(r, p, f(1));
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_scalef_ps(p.raw, n.raw)};
#else
  constexpr hn::RebindToSigned<Floats> integers;
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  const V power = hn::BitCast(floats, hn::Add(exponent, hn::BitCast(integers, f(1))));
  return hn::IfThenZeroElse(hn::Lt(x, f(-87)), hn::Mul(p, power));
#endif
}

/// Returns 1/x for 1 ≤ x ≤ 2¹²⁶. One Newton step is faster than a division.
/// Numerics: within 2 units in the last place.
HWY_INLINE V reciprocal(V x) {
  const V one = hn::Set(floats, 1.0f);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  const V y = hn::ApproximateReciprocal(x);
  return hn::MulAdd(y, hn::NegMulAdd(x, y, one), y);
#else
  return hn::Div(one, x);
#endif
}

/// Returns 1/(1 + e^minus_x). The caller negates the argument at no cost. NaN stays NaN.
HWY_INLINE V sigmoid_of_minus(V minus_x) {
  return reciprocal(hn::Add(hn::Set(floats, 1.0f), exponential(at_most(87, minus_x))));
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
