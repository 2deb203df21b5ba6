#include "base/numeric/dtype.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"

using namespace dt;

TEST_CASE("every element type is found by its name and knows its size") {
  const std::pair<const char*, std::size_t> expected[] = {{"f64", 8}, {"f32", 4}, {"bf16", 2}, {"f16", 2},
                                                          {"i64", 8}, {"i32", 4}, {"u64", 8},  {"u32", 4},
                                                          {"u16", 2}, {"u8", 1}};
  for (const auto& [name, bytes] : expected) {
    const DType dtype = parse_dtype(name);
    CHECK(dtype_name(dtype) == name);
    CHECK(dtype_bytes(dtype) == bytes);
  }
}

TEST_CASE("an unknown element type is bad input that lists the known ones") {
  const auto error = dt_test::caught([] { parse_dtype("float8"); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("'float8'"));
  CHECK(error.says("bf16"));
}

TEST_CASE("C++ types map to element types") {
  CHECK(dtype_of<double>() == DType::f64);
  CHECK(dtype_of<float>() == DType::f32);
  CHECK(dtype_of<std::uint16_t>() == DType::u16);
}
