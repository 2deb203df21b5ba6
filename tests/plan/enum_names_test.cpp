#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "plan/requests.hpp"
#include "plan/time/roofline.hpp"

using namespace dt::plan;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", Recompute, RankOrder,
                   OperationKind) {
  dt_test::check_names<TestType>();
}
