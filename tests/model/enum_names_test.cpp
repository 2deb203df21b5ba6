#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "model/layout.hpp"
#include "model/parameter_class.hpp"

using namespace dt::model;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", PipelineScheduleKind,
                   ParameterClass) {
  dt_test::check_names<TestType>();
}
