#include "tensor/tensor.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

using namespace dt;

namespace {

struct Numbers {
  Numbers() : values(24) { std::iota(values.begin(), values.end(), 0.0f); }
  Tensor tensor() { return Tensor(values.data(), DType::f32, {4, 3, 2}); }
  std::vector<float> values;
};

}  // namespace

TEST_CASE("a tensor views memory that others own") {
  Numbers n;
  const Tensor t = n.tensor();
  CHECK(t.numel() == 24);
  CHECK(t.bytes() == 96);
  CHECK(t.data<float>() == n.values.data());
  const Tensor copy = t;
  copy.span<float>()[5] = 50;
  CHECK(n.values[5] == 50);
}

TEST_CASE("an absent tensor is false and keeps its shape through views") {
  CHECK_FALSE(Tensor());
  const Tensor absent(nullptr, DType::f32, {4, 2});
  CHECK_FALSE(absent.rows(1, 3));
  CHECK(absent.rows(1, 3).shape() == Shape{2, 2});
  CHECK_FALSE(absent.flat(3, 2));
}

TEST_CASE("reading a tensor as another type is an error") {
  Numbers n;
  CHECK_THROWS_AS(n.tensor().data<double>(), Error);
}

TEST_CASE("rows are a view of the outermost dim") {
  Numbers n;
  const Tensor rows = n.tensor().rows(1, 3);
  CHECK(rows.shape() == Shape{2, 3, 2});
  CHECK(rows.data<float>() == n.values.data() + 6);
  CHECK(n.tensor().rows(4, 4).numel() == 0);
  CHECK_THROWS_AS(n.tensor().rows(3, 5), Error);
  CHECK_THROWS_AS(n.tensor().rows(2, 1), Error);
  CHECK_THROWS_AS(n.tensor().rows(-1, 1), Error);
  CHECK_THROWS_AS(Tensor(n.values.data(), DType::f32, {}).rows(0, 1), Error);
}

TEST_CASE("a reshaped tensor has the same elements") {
  Numbers n;
  CHECK(n.tensor().reshaped({6, 4}).dim(1) == 4);
  CHECK(n.tensor().reshaped({24}).data<float>() == n.values.data());
  CHECK_THROWS_AS(n.tensor().reshaped({5, 5}), Error);
}

TEST_CASE("a flat view is a range of elements") {
  Numbers n;
  const Tensor flat = n.tensor().flat(5, 4);
  CHECK(flat.shape() == Shape{4});
  CHECK(flat.span<float>()[0] == 5);
  CHECK(n.tensor().flat(24, 0).numel() == 0);
  CHECK_THROWS_AS(n.tensor().flat(20, 5), Error);
  CHECK_THROWS_AS(n.tensor().flat(-1, 5), Error);
}
