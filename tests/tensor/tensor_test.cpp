#include "tensor/tensor.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "tensor/host_tensor.hpp"

using namespace dt;

namespace {

struct Numbers {
  Numbers() : values(24) { std::iota(values.begin(), values.end(), 0.0f); }
  Tensor tensor() { return host_tensor(values).reshaped({4, 3, 2}); }
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

TEST_CASE("the first columns of a matrix have padded rows, and do not pass for contiguous") {
  Numbers n;
  const Tensor whole = n.tensor().reshaped({4, 6}), t = whole.first_columns(5);
  CHECK(t.shape() == Shape{4, 5});
  CHECK((t.has_padded_rows() && t.pitch() == 6));
  CHECK(t.rows(2, 4).data<float>()[0] == 12);
  CHECK((t.rows(2, 4).has_padded_rows() && t.rows(2, 4).pitch() == 6));
  CHECK(t.first_columns(2).pitch() == 6);
  CHECK_FALSE(whole.first_columns(6).has_padded_rows());
  CHECK(whole.pitch() == 6);
  CHECK_THROWS_AS(t.bytes(), Error);
  CHECK_THROWS_AS(t.span_bytes(), Error);
  CHECK_THROWS_AS(t.span<float>(), Error);
  CHECK_THROWS_AS(t.reshaped({20}), Error);
  CHECK_THROWS_AS(t.flat(0, 2), Error);
  CHECK_THROWS_AS(whole.first_columns(7), Error);
  CHECK_THROWS_AS(n.tensor().first_columns(2), Error);
}

TEST_CASE("a buffer's memory is viewed where it lies, as far as it goes") {
  const Buffer buffer(Device::host(), 100);
  const Tensor t(buffer, DType::f32, {3, 2}, 64);
  CHECK(t.raw() == buffer.data() + 64);
  CHECK(t.device() == buffer.device());
  CHECK_NOTHROW(Tensor(buffer, DType::f32, {25}));
  CHECK_THROWS_AS(Tensor(buffer, DType::f32, {26}), Error);
  CHECK_THROWS_AS(Tensor(buffer, DType::f32, {10}, 64), Error);
  CHECK_THROWS_AS(Tensor(buffer, DType::f32, {0}, 101), Error);
  CHECK_FALSE(Tensor(Buffer(), DType::f32, {0, 4}));
  CHECK_THROWS_AS(Tensor(Buffer(), DType::f32, {1}), Error);
}

TEST_CASE("the host's numbers are vectors of their type") {
  std::vector<std::int64_t> values = {1, 2, 3};
  CHECK(host_tensor(values).data<std::int64_t>() == values.data());
  CHECK(host_tensor(values).shape() == Shape{3});
  CHECK(host_tensor(std::span(values).last(2)).span<std::int64_t>()[0] == 2);
  double value = 7;
  CHECK(host_tensor(value).data<double>() == &value);
  CHECK(host_tensor(value).shape() == Shape{1});
  CHECK(host_tensor(value).device() == Device::host());
}

TEST_CASE("an absent tensor is false and keeps its shape through views") {
  CHECK_FALSE(Tensor());
  const Tensor absent(nullptr, DType::f32, {4, 2}, Device::host());
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
  CHECK_THROWS_AS(host_tensor(n.values[0]).reshaped({}).rows(0, 1), Error);
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
