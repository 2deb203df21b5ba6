#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "model/layout.hpp"

using namespace dt::model;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", PipelineScheduleKind) {
  dt_test::check_names<TestType>();
}
