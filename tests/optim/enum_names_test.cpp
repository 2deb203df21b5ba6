#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "optim/learning_rate_schedule.hpp"
#include "optim/optimizer.hpp"

using namespace dt::optim;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", LearningRateScheduleKind,
                   DecayShape, OptimizerKind) {
  dt_test::check_names<TestType>();
}
