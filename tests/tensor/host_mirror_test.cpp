#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "device/test_device.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;

namespace {

constexpr Device gpu = Device::gpu(0);

/// Sets values to 10, 11, ... by place in the piece's box.
void count(const Piece& piece, const Tensor& values) {
  const auto span = values.span<float>();
  std::iota(span.begin(), span.end(), static_cast<float>(10 + piece.begin));
}

std::vector<float> counted(std::int64_t first, std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), static_cast<float>(10 + first));
  return values;
}

std::vector<float> floats(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const float*>(bytes.data());
  return {first, first + bytes.size() / sizeof(float)};
}

const Piece some{{7, 5}, {2, 0}, {4, 5}, 3, 17};

}  // namespace

TEST_CASE("the host's tensors are read and written where they lie, at once") {
  const Context context(1, Device::host());
  const Buffer buffer(Device::host(), 14 * sizeof(float));
  const Tensor tensor(buffer, DType::f32, {14});
  int calls = 0;
  const auto fill = [&](const Piece& piece, const Tensor& values) {
    CHECK(piece == some);
    CHECK(values.raw() == tensor.raw());
    count(piece, values);
    ++calls;
  };
  fill_from_host(context, some, tensor, fill, 16);
  const auto look = [&](std::span<const std::byte> bytes) {
    CHECK(bytes.data() == tensor.raw());
    CHECK(bytes.size() == tensor.bytes());
    ++calls;
  };
  for_each_host_chunk(context, tensor, look, 16);
  CHECK(calls == 2);
  CHECK(HostMirror(context, tensor).tensor().raw() == tensor.raw());
  CHECK(floats(tensor.span_bytes()) == counted(3, 14));
  Buffer same(Device::host(), 100);
  const std::byte* const data = same.data();
  CHECK(to_device(Device::host(), std::move(same)).data() == data);
}

TEST_CASE("a device's tensors are filled and read in parts of bounded size", "[device]") {
  const std::size_t most_bytes = GENERATE(1, 4, 16, 20, 56, 1000);
  const test_device::Use device(most_bytes);
  const Context context(1, gpu);
  const Buffer buffer(gpu, 14 * sizeof(float));
  const Tensor tensor(buffer, DType::f32, {2, 7});
  const std::size_t most = std::max(most_bytes, sizeof(float));
  std::int64_t next = some.begin;
  const auto fill = [&](const Piece& piece, const Tensor& values) {
    CHECK(values.bytes() <= most);
    CHECK(piece.numel() == values.numel());
    CHECK(piece.box == some.box);
    CHECK(piece.begin == next);
    next = piece.end;
    count(piece, values);
  };
  fill_from_host(context, some, tensor, fill, most_bytes);
  CHECK(next == some.end);
  std::vector<float> seen;
  const auto look = [&](std::span<const std::byte> bytes) {
    CHECK(bytes.size() <= most);
    const std::vector<float> part = floats(bytes);
    seen.insert(seen.end(), part.begin(), part.end());
  };
  for_each_host_chunk(context, tensor, look, most_bytes);
  CHECK(seen == counted(3, 14));
}

TEST_CASE("a copy for the host holds what the stream was given before", "[device]") {
  const test_device::Use device(1);
  const Context context(1, gpu);
  const Buffer buffer(gpu, 12);
  const Tensor tensor(buffer, DType::f32, {3});
  std::vector<float> values{1, 2, 3};
  accelerator().copy(context.stream(), tensor.raw(), reinterpret_cast<std::byte*>(values.data()), 12);
  const HostMirror copy(context, tensor);
  CHECK(copy.tensor().device() == Device::host());
  CHECK(copy.tensor().shape() == tensor.shape());
  CHECK(floats(copy.tensor().span_bytes()) == values);
  CHECK_FALSE(HostMirror(context, Tensor()).tensor());
}

TEST_CASE("a buffer that is moved to a device holds there what it held", "[device]") {
  const test_device::Use device(1);
  Buffer here(Device::host(), 12);
  const std::vector<float> values{4, 5, 6};
  std::ranges::copy(std::as_bytes(std::span(values)), here.data());
  const Buffer there = to_device(gpu, std::move(here));
  CHECK(there.device() == gpu);
  const Context context(1, gpu);
  CHECK(floats(HostMirror(context, Tensor(there, DType::f32, {3})).tensor().span_bytes()) == values);
}
