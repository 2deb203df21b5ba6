// AdamW with moments in bf16.

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"
#include "kernels/optimizer_step.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/rounded_states.cpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/optimizer_rules.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

using Integers = hn::RebindToUnsigned<Floats>;
using U = hn::Vec<Integers>;
constexpr Integers integers;

/// The number of elements whose random words are made at once.
constexpr std::int64_t chunk = 1024;
/// Memory for the words of a chunk, of the blocks that it shares with its neighbours, and of two whole
/// vectors of blocks.
using DrawnWords = std::uint32_t[chunk + 4 * (2 * num_lanes + 2)];

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void multiply(U a, U b, U& high, U& low) {
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  high = hn::Set(integers, static_cast<std::uint32_t>(product >> 32));
  low = hn::Set(integers, static_cast<std::uint32_t>(product));
}
#else
/// Sets the upper and lower halves of the 64-bit products of two vectors.
HWY_INLINE void multiply(U a, U b, U& high, U& low) {
  constexpr hn::RepartitionToWide<Integers> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(integers, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  high = hn::OddEven(hn::BitCast(integers, odd), hn::BitCast(integers, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(integers, hn::ShiftLeft<32>(odd)), hn::BitCast(integers, even));
}
#endif

/// Writes the words of the elements index to index + count − 1, and returns a pointer to the first. Each lane
/// computes the block of one counter. Processing two vectors at a time hides the latency of the products.
HWY_INLINE const std::uint32_t* draw(const RoundingBits& bits, std::int64_t index, std::int64_t count,
                                     DrawnWords& words) {
  const U multiplier_0 = hn::Set(integers, philox_multiplier_0),
          multiplier_1 = hn::Set(integers, philox_multiplier_1);
  std::uint32_t* out = words;
  for (std::int64_t block = index / 4; 4 * block < index + count; block += 2 * num_lanes) {
    U c[2][4];
    for (int vector = 0; vector < 2; ++vector) {
      const PhiloxWords first = bits.counter(block + vector * num_lanes);
      const U low = hn::Set(integers, first[0]), high = hn::Set(integers, first[1]);
      c[vector][0] = hn::Add(low, hn::Iota(integers, 0));
      c[vector][1] = hn::IfThenElse(hn::Lt(c[vector][0], low), hn::Add(high, hn::Set(integers, 1)), high);
      c[vector][2] = hn::Set(integers, first[2]);
      c[vector][3] = hn::Set(integers, first[3]);
    }
    PhiloxKey key = bits.key;
    for (int round = 0; round < philox_rounds; ++round, advance_philox_key(key)) {
      const U key_0 = hn::Set(integers, key[0]), key_1 = hn::Set(integers, key[1]);
      for (U(&v)[4] : c) {
        U high_0, low_0, high_1, low_1;
        multiply(v[0], multiplier_0, high_0, low_0);
        multiply(v[2], multiplier_1, high_1, low_1);
        v[0] = hn::Xor(high_1, hn::Xor(v[1], key_0));
        v[1] = low_1;
        v[2] = hn::Xor(high_0, hn::Xor(v[3], key_1));
        v[3] = low_0;
      }
    }
    for (const U(&v)[4] : c) {
      hn::StoreInterleaved4(v[0], v[1], v[2], v[3], integers, out);
      out += 4 * num_lanes;
    }
  }
  return words + index % 4;
}

/// Stores values as bf16, rounded by the lower 16 bits of `random`; see round_stochastically().
template <class Lanes>
HWY_INLINE void store_rounded(Lanes lanes, V v, U random, BFloat16* p) {
  const U bits = hn::BitCast(integers, v);
  const U sum = hn::Add(bits, hn::And(random, hn::Set(integers, 0xffff)));
  const U kept =
      hn::IfThenElse(hn::RebindMask(integers, hn::IsNaN(v)), hn::Or(bits, hn::Set(integers, 0x400000)), sum);
  constexpr hn::RebindToSigned<Floats> signed_integers;
  const auto high = hn::DemoteTo(halves, hn::BitCast(signed_integers, hn::ShiftRight<16>(kept)));
  if constexpr (std::is_same_v<Lanes, All>) {
    hn::StoreU(high, halves, reinterpret_cast<std::uint16_t*>(p));
  } else {
    HWY_ALIGN std::uint16_t all[num_lanes];
    hn::Store(high, halves, all);
    std::memcpy(p, all, static_cast<std::size_t>(lanes.count) * sizeof(BFloat16));
  }
}

/// Updates `count` elements of one row. A whole vector can be read from `words` at each element.
template <class G, class T>
HWY_INLINE void update_row(const AdamW<V>& rule, const std::uint32_t* words, float* w, const G* grad,
                           BFloat16* m, BFloat16* v, T* copy, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    V weight = load(lanes, w + i);
    V moments[] = {load(lanes, m + i), load(lanes, v + i)};
    rule(load(lanes, grad + i), weight, moments);
    const U random = hn::LoadU(integers, words + i);
    store(lanes, weight, w + i);
    store_rounded(lanes, moments[0], random, m + i);
    store_rounded(lanes, moments[1], hn::ShiftRight<16>(random), v + i);
    if (copy) store(lanes, weight, copy + i);
  });
}

void update_part(const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                 std::span<const Tensor> states, const Tensor& copy, std::int64_t begin, std::int64_t end) {
  const RoundingBits bits = step.rounding_bits();
  const auto set = [](double factor) HWY_ATTR { return hn::Set(floats, static_cast<float>(factor)); };
  const AdamW<V> rule(step, set);
  HWY_ALIGN DrawnWords words;
  with_gradients(grad.dtype(), [&](auto gradient) HWY_ATTR {
    with_elements(copy.dtype(), [&](auto element) HWY_ATTR {
      using G = decltype(gradient);
      using T = decltype(element);
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t index = bits.elements.index(i);
        const std::int64_t count = std::min({chunk - index % 4, end - i, bits.elements.left_in_row(i)});
        const std::uint32_t* const drawn = draw(bits, index, count, words);
        update_row(rule, drawn, w.data<float>() + i, grad.data<G>() + i, states[0].data<BFloat16>() + i,
                   states[1].data<BFloat16>() + i, copy ? copy.data<T>() + i : nullptr, count);
        i += count;
      }
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(update_part);

void update_rounded_states(const Context& context, const OptimizerStep& step, const Tensor& w,
                           const Tensor& grad, std::span<const Tensor> states, const Tensor& copy) {
  for_elements(context, w.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(update_part)(step, w, grad, states, copy, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
