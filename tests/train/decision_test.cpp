#include "train/step/decision.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt::train;

TEST_CASE("the loss is the sum over targets and the norm the root of the sum of squares") {
  LocalStepReport report;
  report.nll.add(6.0);
  report.squared_norm.add(16.0);
  const Decision d = decide(report, 3, 1.0);
  CHECK(d.loss == 2.0);
  CHECK(d.grad_norm == 4.0);
  CHECK(d.grad_scale == 0.25);
  CHECK(d.finite);
}

TEST_CASE("combined reports decide the same on every rank, whatever their order") {
  const std::array<double, 3> terms{0.1, 1e17, -1e17};
  for (int shift = 0; shift < 3; ++shift) {
    dt::comm::run_threads(3, [&](dt::comm::Communicator& world) {
      LocalStepReport report;
      report.nll.add(terms[static_cast<std::size_t>((world.rank() + shift) % 3)]);
      report.squared_norm.add(world.rank());
      report.data_digest = ~std::uint64_t{0} - static_cast<std::uint64_t>(world.rank());
      if (world.rank() == 1) report.signal = 10;
      if (world.rank() == 2) report.signal = 15;
      report.output_failed = world.rank() == 0;
      report.all_reduce(world);
      const Decision decision = decide(report, 1, 0);
      const bool equal = decision.loss == 0.1 && decision.grad_norm == std::sqrt(3.0) &&
                         decision.data_digest == ~std::uint64_t{0} * 3 - 3 && decision.stop_signal == 15 &&
                         decision.stop && !decision.superseded;
      return equal ? 0 : throw dt::Error(dt::ErrorKind::internal, "ranks decide differently");
    });
  }
  SUCCEED();
}

TEST_CASE("one value that is not finite stops the optimizer") {
  LocalStepReport nan_loss, infinite_norm;
  nan_loss.nll.add(std::numeric_limits<double>::quiet_NaN());
  infinite_norm.squared_norm.add(std::numeric_limits<double>::infinity());
  CHECK_FALSE(decide(nan_loss, 1, 1).finite);
  CHECK_FALSE(decide(infinite_norm, 1, 1).finite);
}

TEST_CASE(
    "auxiliary losses are summed over ranks, join what is minimized and stop the optimizer if not finite") {
  const std::array losses{dt::model::AuxiliaryLoss{"balance", 0.5}, dt::model::AuxiliaryLoss{"z", 2, true}};
  dt::comm::run_threads(3, [&](dt::comm::Communicator& world) {
    LocalStepReport report(losses.size());
    report.nll.add(3);
    report.auxiliary[0].add(world.rank());
    report.auxiliary[1].add(world.rank() == 1 ? 1e17 : world.rank() == 2 ? -1e17 : 9);
    report.squared_norm.add(world.rank());
    report.all_reduce(world);
    const Decision d = decide(report, 9, 0, 1, losses, 6);
    const bool equal = d.loss == 1 && d.auxiliary.size() == 2 && d.auxiliary[0].value == 0.5 &&
                       d.auxiliary[1].value == 1 && d.auxiliary[1].loss == losses[1] &&
                       d.total_loss() == 3.25 && d.finite && d.grad_norm == std::sqrt(3.0);
    return equal ? 0 : throw dt::Error(dt::ErrorKind::internal, "ranks decide differently");
  });
  LocalStepReport report(losses.size());
  report.auxiliary[1].add(std::numeric_limits<double>::infinity());
  const Decision d = decide(report, 1, 0, 1, losses);
  CHECK_FALSE(d.finite);
  CHECK(d.loss == 0);
  CHECK_FALSE(std::isfinite(d.total_loss()));
  CHECK(LocalStepReport::bytes(2) - LocalStepReport::bytes() == 2 * (dt::ExactSum::num_digits + 1) * 8);
}

TEST_CASE("ranks combine attention scores by their maximum") {
  dt::comm::run_threads(3, [&](dt::comm::Communicator& world) {
    LocalStepReport report(0, 3);
    report.squared_norm.add(1);
    report.max_scores[0] = -world.rank() - 1.0;
    if (world.rank() == 1) report.max_scores[1] = 7;
    report.all_reduce(world);
    const bool equal =
        report.max_scores == std::vector{-1.0, 7.0, -std::numeric_limits<double>::infinity()} &&
        report.squared_norm.value() == 3;
    return equal ? 0 : throw dt::Error(dt::ErrorKind::internal, "ranks have other scores");
  });
  CHECK(LocalStepReport::bytes(1, 5) - LocalStepReport::bytes(1) == 5 * 8);
}
