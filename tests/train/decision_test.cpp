#include "train/decision.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace dt::train;

TEST_CASE("the loss is the sum over targets and the norm the root of the sum of squares") {
  StepReport report;
  report.nll.add(6.0);
  report.squared_norm.add(16.0);
  const Decision d = decide(report, 3, 1.0);
  CHECK(d.loss == 2.0);
  CHECK(d.grad_norm == 4.0);
  CHECK(d.grad_scale == 0.25);
  CHECK(d.finite);
}

TEST_CASE("merged reports decide the same whatever their order") {
  StepReport a, b, c;
  a.nll.add(0.1);
  b.nll.add(1e17);
  c.nll.add(-1e17);
  b.signal = 15;
  StepReport abc = a, cba = c;
  abc.merge(b);
  abc.merge(c);
  cba.merge(b);
  cba.merge(a);
  CHECK(decide(abc, 1, 0).loss == 0.1);
  CHECK(decide(cba, 1, 0).loss == 0.1);
  CHECK(decide(cba, 1, 0).stop_signal == 15);
}

TEST_CASE("one value that is not finite stops the optimizer") {
  StepReport nan_loss, infinite_norm;
  nan_loss.nll.add(std::numeric_limits<double>::quiet_NaN());
  infinite_norm.squared_norm.add(std::numeric_limits<double>::infinity());
  CHECK_FALSE(decide(nan_loss, 1, 1).finite);
  CHECK_FALSE(decide(infinite_norm, 1, 1).finite);
}
