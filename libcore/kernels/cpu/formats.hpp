// Vectors of fp32 loaded from and stored to each floating-point format: F32, Bf16, F16. Stores round to
// nearest, ties to even; a NaN stays one; subnormals are kept. Once per instruction set.
#include "kernels/cpu/simd.hpp"

#if defined(DT_KERNELS_CPU_FORMATS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_FORMATS_TOGGLE
#undef DT_KERNELS_CPU_FORMATS_TOGGLE
#else
#define DT_KERNELS_CPU_FORMATS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using HalfWords = hn::Rebind<std::uint16_t, Floats>;
using U = hn::Vec<Words>;
constexpr Words words;
constexpr HalfWords half_words;

HWY_INLINE U word(std::uint32_t value) {
  return hn::Set(words, value);
}
HWY_INLINE U load_half_words(const std::uint16_t* p) {
  return hn::PromoteTo(words, hn::LoadU(half_words, p));
}
/// The lower halves of the words, whose upper halves are zero.
HWY_INLINE void store_half_words(U v, std::uint16_t* p) {
  const hn::RebindToSigned<Words> integers;
  hn::StoreU(hn::DemoteTo(half_words, hn::BitCast(integers, v)), half_words, p);
}

struct F32 {
  using Element = float;
  static HWY_INLINE V load(const Element* p) { return hn::LoadU(floats, p); }
  static HWY_INLINE void store(V v, Element* p) { hn::StoreU(v, floats, p); }
};

struct Bf16 {
  using Element = std::uint16_t;
  static HWY_INLINE V load(const Element* p) {
    return hn::BitCast(floats, hn::ShiftLeft<16>(load_half_words(p)));
  }
  static HWY_INLINE void store(V v, Element* p) {
    const U bits = hn::BitCast(words, v);
    const U odd = hn::And(hn::ShiftRight<16>(bits), word(1));
    const U rounded = hn::Add(hn::Add(bits, word(0x7fff)), odd);
    const U quiet_nan = hn::Or(bits, word(0x400000));
    const auto is_nan = hn::RebindMask(words, hn::IsNaN(v));
    store_half_words(hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet_nan, rounded)), p);
  }
};

#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64

struct F16 {
  using Element = std::uint16_t;
  using Halves = hn::Rebind<hwy::float16_t, Floats>;
  static HWY_INLINE V load(const Element* p) {
    return hn::PromoteTo(floats, hn::BitCast(Halves(), hn::LoadU(half_words, p)));
  }
  static HWY_INLINE void store(V v, Element* p) {
    hn::StoreU(hn::BitCast(half_words, hn::DemoteTo(Halves(), v)), half_words, p);
  }
};

#else  // Highway's own emulation knows neither infinity nor NaN

struct F16 {
  using Element = std::uint16_t;
  static HWY_INLINE V load(const Element* p) {
    constexpr std::uint32_t rebias = (127U - 15U) << 23;
    const U half = load_half_words(p);
    const U magnitude = hn::ShiftLeft<13>(hn::And(half, word(0x7fff)));
    const U exponent = hn::And(magnitude, word(31U << 23));
    const U normal = hn::Add(magnitude, word(rebias));
    // The mantissa of a subnormal, put behind a one of known weight, which is then taken off.
    const U subnormal = hn::BitCast(words, hn::Sub(hn::BitCast(floats, hn::Add(normal, word(1U << 23))),
                                                   hn::BitCast(floats, word(rebias + (1U << 23)))));
    U bits = hn::IfThenElse(hn::Eq(exponent, word(0)), subnormal, normal);
    bits = hn::IfThenElse(hn::Eq(exponent, word(31U << 23)), hn::Add(normal, word(rebias)), bits);
    return hn::BitCast(floats, hn::Or(bits, hn::ShiftLeft<16>(hn::And(half, word(0x8000)))));
  }
  static HWY_INLINE void store(V v, Element* p) {
    const U bits = hn::BitCast(words, v);
    const U magnitude = hn::And(bits, word(0x7fffffff));
    // Subnormal halves: adding this puts their last bit at the last bit of an fp32, whose addition rounds.
    const U aligner = word((127U - 15U + 23U - 10U + 1U) << 23);
    const U subnormal = hn::Sub(
        hn::BitCast(words, hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, aligner))), aligner);
    const U odd = hn::And(hn::ShiftRight<13>(magnitude), word(1));
    const U rebiased = hn::Sub(magnitude, word((127U - 15U) << 23));
    const U normal = hn::ShiftRight<13>(hn::Add(hn::Add(rebiased, word(0xfff)), odd));
    U result = hn::IfThenElse(hn::Lt(magnitude, word(113U << 23)), subnormal, normal);
    result = hn::IfThenElse(hn::Ge(magnitude, word((127U + 16U) << 23)), word(0x7c00), result);
    result = hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(v)), word(0x7e00), result);
    store_half_words(hn::Or(result, hn::ShiftRight<16>(hn::And(bits, word(0x80000000)))), p);
  }
};

#endif

template <class Format>
HWY_INLINE V load_as(All, const typename Format::Element* p) {
  return Format::load(p);
}
/// Lanes beyond the first are zero.
template <class Format>
HWY_INLINE V load_as(First first, const typename Format::Element* p) {
  using Element = typename Format::Element;
  Element elements[num_lanes] = {};
  std::memcpy(elements, p, static_cast<std::size_t>(first.count) * sizeof(Element));
  return Format::load(elements);
}
template <class Format>
HWY_INLINE void store_as(All, V v, typename Format::Element* p) {
  Format::store(v, p);
}
template <class Format>
HWY_INLINE void store_as(First first, V v, typename Format::Element* p) {
  using Element = typename Format::Element;
  Element elements[num_lanes];
  Format::store(v, elements);
  std::memcpy(p, elements, static_cast<std::size_t>(first.count) * sizeof(Element));
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
