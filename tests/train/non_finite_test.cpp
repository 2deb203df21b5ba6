#include "train/step/non_finite.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace dt::train;

TEST_CASE("what is not finite is told with where it came up first, if anywhere") {
  Decision decision;
  decision.loss = 2;
  decision.grad_norm = std::numeric_limits<double>::infinity();
  CHECK(describe_non_finite(5, decision, "the output of head") ==
        "step 5: loss 2, gradient norm inf: not finite (first in the output of head)");
  CHECK(describe_non_finite(5, decision, "") == "step 5: loss 2, gradient norm inf: not finite");
  decision.auxiliary = {{{"balance", 1}, std::numeric_limits<double>::infinity()}};
  CHECK(describe_non_finite(5, decision, "") == "step 5: loss inf, gradient norm inf: not finite");
}
