#pragma once
// Element types of tensors and of datasets in files. A row of dtype_table describes each. The table lies in
// base, below tensor, because file formats name element types.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.hpp"
#include "base/numeric/half.hpp"
#include "base/numeric/type_list.hpp"
#include "base/text/enum_names.hpp"

namespace dt {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u64, u32, u16, u8 };

enum class NumberKind : std::uint8_t { floating, signed_integer, unsigned_integer };

/// Describes an element type. A name is empty if the type has none there.
struct DTypeTraits {
  DType dtype;
  std::string_view name;  // in manifests and messages
  NumberKind kind;
  std::uint8_t bytes;                         // a block's
  std::uint8_t exponent_bits, mantissa_bits;  // a float's; the layout is that of IEEE 754
  std::string_view option;                    // in --precision, for types that weights can have
  std::string_view safetensors;
  std::string_view torch;  // in a config.json
  std::string_view nccl_tests;
  std::int64_t block_elements = 1;  // elements that share a scale, which is stored with them
};

inline constexpr auto dtype_table = [] {
  using enum NumberKind;
  return std::to_array<DTypeTraits>(
      {{DType::f64, "f64", floating, 8, 11, 52, "fp64", "F64", "float64", "double"},
       {DType::f32, "f32", floating, 4, 8, 23, "fp32", "F32", "float32", "float"},
       {DType::bf16, "bf16", floating, 2, 8, 7, "bf16", "BF16", "bfloat16", "bfloat16"},
       {DType::f16, "f16", floating, 2, 5, 10, "fp16", "F16", "float16", "half"},
       {DType::i64, "i64", signed_integer, 8, 0, 0, "", "I64", "", "int64"},
       {DType::i32, "i32", signed_integer, 4, 0, 0, "", "I32", "", "int32"},
       {DType::u64, "u64", unsigned_integer, 8, 0, 0, "", "U64", "", "uint64"},
       {DType::u32, "u32", unsigned_integer, 4, 0, 0, "", "U32", "", "uint32"},
       {DType::u16, "u16", unsigned_integer, 2, 0, 0, "", "U16", "", ""},
       {DType::u8, "u8", unsigned_integer, 1, 0, 0, "", "U8", "", "uint8"}});
}();

/// Floats that are stored in 16 bits. Arithmetic is in fp32.
using NarrowFloatTypes = TypeList<BFloat16, Float16>;
using FloatTypes = Joined<TypeList<double, float>, NarrowFloatTypes>;
/// The C++ types of all element types, in the order of DType.
using ElementTypes =
    Joined<FloatTypes,
           TypeList<std::int64_t, std::int32_t, std::uint64_t, std::uint32_t, std::uint16_t, std::uint8_t>>;

template <class T>
constexpr DType dtype_of() {
  static_assert(is_one_of<T, ElementTypes>, "no element type has this C++ type");
  return static_cast<DType>(index_in<T>(ElementTypes()));
}

template <class T>
inline constexpr bool is_narrow = is_one_of<T, NarrowFloatTypes>;

/// The type in which elements of type T are computed with.
template <class T>
using ComputeType = std::conditional_t<is_narrow<T>, float, T>;

/// Returns whether the C++ type of `dtype` is one of a list.
template <class... Ts>
constexpr bool has_dtype(TypeList<Ts...>, DType dtype) {
  return ((dtype == dtype_of<Ts>()) || ...);
}

constexpr const DTypeTraits& traits_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  DT_CHECK(index < dtype_table.size(), "no element type has the number {}", index);
  return dtype_table[index];
}

/// Returns the bytes of `numel` elements.
/// Errors: internal if `numel` is not a multiple of the type's block_elements.
constexpr std::size_t storage_bytes(const DTypeTraits& traits, std::int64_t numel) {
  DT_CHECK(numel % traits.block_elements == 0, "{} elements of {} do not fill whole blocks of {} elements",
           numel, traits.name, traits.block_elements);
  return static_cast<std::size_t>(numel / traits.block_elements) * traits.bytes;
}
constexpr std::size_t storage_bytes(DType dtype, std::int64_t numel) {
  return storage_bytes(traits_of(dtype), numel);
}
/// Returns the bytes of an element.
/// Errors: internal if elements of the type share a scale. Callers that support such types call
/// storage_bytes().
constexpr std::size_t dtype_bytes(DType dtype) {
  return storage_bytes(dtype, 1);
}

/// Returns "f64", "f32", "bf16", ...: the names in manifests and messages.
std::string_view dtype_name(DType dtype);
/// Returns the type with this name.
/// Errors: input if the name is unknown.
DType parse_dtype(std::string_view name);
/// Returns the names of all types: "f64, f32, ..., u16 or u8".
std::string list_dtypes();

constexpr bool is_float(DType dtype) {
  return traits_of(dtype).kind == NumberKind::floating;
}
constexpr bool is_narrow_float(DType dtype) {
  return has_dtype(NarrowFloatTypes(), dtype);
}
/// Returns whether the type's range is smaller than that of fp32, so that gradients need a scale.
constexpr bool has_narrow_range(DType dtype) {
  return is_float(dtype) && traits_of(dtype).exponent_bits < traits_of(DType::f32).exponent_bits;
}
/// Returns the largest finite value of a float type: all bits of the mantissa are set.
constexpr double largest_finite(DType dtype) {
  DT_CHECK(is_float(dtype), "{} is not a floating-point type", dtype_name(dtype));
  const DTypeTraits& traits = traits_of(dtype);
  constexpr int f64_mantissa_bits = 52, f64_bias = 1023;
  const std::uint64_t exponent = (std::uint64_t{1} << (traits.exponent_bits - 1)) - 1 + f64_bias;
  const std::uint64_t mantissa = (std::uint64_t{1} << traits.mantissa_bits) - 1;
  return std::bit_cast<double>(exponent << f64_mantissa_bits |
                               mantissa << (f64_mantissa_bits - traits.mantissa_bits));
}
/// Returns the type of statistics, sums and losses that accompany elements of `dtype`: f64 for f64,
/// else f32.
constexpr DType statistics_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// Returns the names that a column of dtype_table has.
template <std::string_view DTypeTraits::*column>
consteval auto dtype_names_in() {
  constexpr auto has_name = [](const DTypeTraits& traits) { return !(traits.*column).empty(); };
  std::array<EnumName<DType>, std::ranges::count_if(dtype_table, has_name)> names{};
  auto* next = names.begin();
  for (const DTypeTraits& traits : dtype_table) {
    if (has_name(traits)) *next++ = {traits.*column, traits.dtype};
  }
  return names;
}

/// The names of element types in --precision and similar options.
constexpr auto precision_names =
    subset<DType::f32, DType::bf16, DType::f16, DType::f64>(dtype_names_in<&DTypeTraits::option>());
/// Returns the type's name in options, or "" if it has none there.
constexpr std::string_view precision_name(DType dtype) {
  return traits_of(dtype).option;
}

}  // namespace dt
