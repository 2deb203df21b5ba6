#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "tensor/tensor.hpp"

using namespace dt;

TEST_CASE("a shape counts its elements") {
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{2, 3, 4}.numel() == 24);
  CHECK(Shape{2, 0, 4}.numel() == 0);
  CHECK(Shape{2, 3}.rank() == 2);
  CHECK(Shape{2, 3}[1] == 3);
}

TEST_CASE("a shape that cannot be counted is an error") {
  CHECK_THROWS_AS((Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}.numel()), Error);
  CHECK_THROWS_AS((Shape{2, -1}.numel()), Error);
}

TEST_CASE("a shape is written in brackets") {
  CHECK(Shape{}.to_string() == "[]");
  CHECK(Shape{7}.to_string() == "[7]");
  CHECK(Shape{2, 1024, 768}.to_string() == "[2, 1024, 768]");
}
