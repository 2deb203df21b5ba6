#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "bench/operation.hpp"

using namespace dt::bench;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", Operation) {
  dt_test::check_names<TestType>();
}
