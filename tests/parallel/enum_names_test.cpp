#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "parallel/schedule/action.hpp"

using namespace dt::parallel;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", ActionKind, Payload) {
  dt_test::check_names<TestType>();
}
