// A type whose elements share a scale by blocks, as fp8 and MX formats have. The library has none; this one
// shows what such a type describes and what it gets for it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <span>
#include <vector>

#include "base/numeric/convert_elements.hpp"
#include "base/numeric/visit_dtype.hpp"
#include "base/test_folder.hpp"

namespace dt {
namespace {

/// 32 integers and the power of two that they are multiples of.
struct Block {
  static constexpr std::int64_t num_elements = 32;
  std::int8_t exponent;
  std::int8_t elements[num_elements];

  void narrow(const float* values) {
    float largest = 0;
    for (std::int64_t i = 0; i < num_elements; ++i) largest = std::max(largest, std::abs(values[i]));
    int above = 0;
    std::frexp(largest, &above);
    exponent = static_cast<std::int8_t>(above - 7);
    for (std::int64_t i = 0; i < num_elements; ++i)
      elements[i] =
          static_cast<std::int8_t>(std::min(std::nearbyint(std::ldexp(values[i], -exponent)), 127.0F));
  }
  void widen(float* values) const {
    for (std::int64_t i = 0; i < num_elements; ++i)
      values[i] = std::ldexp(static_cast<float>(elements[i]), exponent);
  }
};

constexpr auto block_dtype = static_cast<DType>(dtype_table.size());
constexpr DTypeTraits block_traits = {block_dtype, "block", NumberKind::floating, sizeof(Block), 0, 7, "", "",
                                      "",          "",      Block::num_elements};

}  // namespace

template <>
constexpr DType dtype_of<Block>() {
  return block_dtype;
}

namespace {

using Types = Joined<FloatTypes, TypeList<Block>>;

/// Converts elements of any of Types into those of another, at odd addresses.
std::vector<std::byte> converted(DType from, const std::vector<std::byte>& source, DType to,
                                 std::int64_t count) {
  std::vector<std::byte> unaligned(source.size() + 1), target;
  std::ranges::copy(source, unaligned.begin() + 1);
  visit_dtype(Types(), from, "conversion", [&](auto from_element) {
    visit_dtype(Types(), to, "conversion", [&](auto to_element) {
      using To = decltype(to_element);
      target.resize(1 + static_cast<std::size_t>(count / elements_in<To>) * sizeof(To));
      convert_elements<decltype(from_element), To>(unaligned.data() + 1, target.data() + 1, count);
    });
  });
  target.erase(target.begin());
  return target;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Returns `count` values whose magnitudes differ between blocks, of few enough bits for a block.
std::vector<float> sample(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] =
        std::ldexp(static_cast<float>(i * 37 % 127 - 63), static_cast<int>(i / 32) * 9 - 20);
  return values;
}

TEST_CASE("the bytes of elements that share a scale are those of whole blocks") {
  CHECK(storage_bytes(block_traits, 0) == 0);
  CHECK(storage_bytes(block_traits, 96) == 99);
  const auto refused = dt_test::caught([] { storage_bytes(block_traits, 33); });
  CHECK(refused.says("33 elements of block do not fill whole blocks of 32 elements"));
  CHECK(storage_bytes(DType::bf16, 33) == 66);
}

TEST_CASE("blocks are converted from and to every float type") {
  const std::vector<float> values = sample(96);
  const std::vector<std::byte> floats = bytes_of(values);
  const std::vector<std::byte> blocks = converted(DType::f32, floats, block_dtype, 96);
  CHECK(blocks.size() == storage_bytes(block_traits, 96));
  CHECK(converted(block_dtype, blocks, DType::f32, 96) == floats);
  CHECK(converted(block_dtype, blocks, block_dtype, 96) == blocks);
  for (const DType other : {DType::f64, DType::bf16}) {
    INFO(dtype_name(other));
    const std::vector<std::byte> others = converted(block_dtype, blocks, other, 96);
    CHECK(others == converted(DType::f32, floats, other, 96));
    CHECK(converted(other, others, block_dtype, 96) == blocks);
  }
}

TEST_CASE("a block rounds its elements to multiples of its scale") {
  std::vector<float> values(32, 0.4F);
  values[1] = 100;
  values[2] = 0.6F;
  const auto blocks = converted(DType::f32, bytes_of(values), block_dtype, 32);
  const auto back = converted(block_dtype, blocks, DType::f32, 32);
  values.assign(32, 0);
  values[1] = 100;
  values[2] = 1;
  CHECK(back == bytes_of(values));
}

TEST_CASE("conversion of a part of a block, or into a type that is not listed, is refused") {
  const std::vector<std::byte> floats = bytes_of(sample(48));
  CHECK(dt_test::caught([&] {
          converted(DType::f32, floats, block_dtype, 48);
        }).says("48 elements do not fill whole blocks of 32"));
  CHECK(dt_test::caught([&] {
          converted(DType::f32, floats, DType::i32, 32);
        }).says("there is no conversion for i32"));
}

}  // namespace
}  // namespace dt
