#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "tensor/context.hpp"
#include "tensor/device/device.hpp"

using namespace dt;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", Arithmetic, DeviceKind) {
  dt_test::check_names<TestType>();
}
