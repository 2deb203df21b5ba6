#include "tensor/device/device.hpp"

#include <catch2/catch.hpp>
#include <type_traits>

#include "tensor/context.hpp"

using namespace dt;

// A device is chosen by name, never by default. Absent memory lies on no device.
static_assert(!std::is_default_constructible_v<Device>);
static_assert(!std::is_constructible_v<Device, DeviceKind, int>);
static_assert(!std::is_constructible_v<Buffer, std::size_t>);
static_assert(!std::is_constructible_v<Tensor, void*, DType, Shape>);
static_assert(!std::is_default_constructible_v<Arena>);
static_assert(!std::is_constructible_v<Context, int>);
static_assert(std::is_default_constructible_v<Buffer> && std::is_default_constructible_v<Tensor>);

TEST_CASE("a device has a name") {
  CHECK(Device::host().to_string() == "cpu");
}
