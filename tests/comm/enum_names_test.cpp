#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "comm/core/recorder.hpp"
#include "comm/device_collectives/device_group.hpp"
#include "comm/diagnostics/flight.hpp"
#include "comm/topology/gpus.hpp"

using namespace dt::comm;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", OperationKind, ReduceOrder,
                   FlightCause, DeviceRequest) {
  dt_test::check_names<TestType>();
}
