#include "tensor/device.hpp"

#include <catch2/catch.hpp>

using namespace dt;

TEST_CASE("a device has a name") {
  CHECK(Device{}.to_string() == "cpu");
}
