#include "base/numeric/dtype.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "base/numeric/visit_dtype.hpp"
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

TEST_CASE("all files and tools take a type's names from one row") {
  CHECK(names_in(precision_names) == std::vector<std::string>{"fp32", "bf16", "fp16", "fp64"});
  CHECK(names_in(dtype_names_in<&DTypeTraits::nccl_tests>()) ==
        std::vector<std::string>{"double", "float", "bfloat16", "half", "int64", "int32", "uint64", "uint32",
                                 "uint8"});
  CHECK(value_in(dtype_names_in<&DTypeTraits::safetensors>(), "BF16") == DType::bf16);
  CHECK(traits_of(DType::f16).torch == "float16");
}

TEST_CASE("what a float can hold follows from its bits") {
  CHECK(largest_finite(DType::f64) == std::numeric_limits<double>::max());
  CHECK(largest_finite(DType::f32) == std::numeric_limits<float>::max());
  CHECK(largest_finite(DType::f16) == 65504);
  CHECK(largest_finite(DType::bf16) == bf16_to_f32(0x7f7f));
  CHECK(dt_test::caught([] { largest_finite(DType::u8); }).says("u8"));
  CHECK(has_narrow_range(DType::f16));
  CHECK_FALSE(has_narrow_range(DType::bf16));
  CHECK_FALSE(has_narrow_range(DType::u8));
}

TEST_CASE("a list of types is the table of what is supported, and others are refused by name") {
  const auto bytes = [](DType dtype) {
    return visit_dtype(NarrowFloatTypes(), dtype, "sum", [](auto element) { return sizeof(element); });
  };
  for (const DTypeTraits& traits : dtype_table) {
    INFO(traits.name);
    if (is_narrow_float(traits.dtype)) {
      CHECK(bytes(traits.dtype) == traits.bytes);
    } else {
      CHECK(dt_test::caught([&] { bytes(traits.dtype); }).message ==
            fmt::format("there is no sum for {}", traits.name));
    }
    visit_dtype(ElementTypes(), traits.dtype, "element",
                [&](auto element) { CHECK(dtype_of<decltype(element)>() == traits.dtype); });
  }
}

TEST_CASE("C++ types map to element types") {
  CHECK(dtype_of<double>() == DType::f64);
  CHECK(dtype_of<float>() == DType::f32);
  CHECK(dtype_of<std::uint16_t>() == DType::u16);
}
