#include "parallel/schedule/stages.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "base/error.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

double slowest(const Stages& stages, const std::vector<UnitCost>& costs) {
  double most = 0;
  for (int stage = 0; stage < stages.num_stages(); ++stage) {
    double sum = 0;
    for (int unit = stages.begin(stage); unit < stages.end(stage); ++unit)
      sum += costs[static_cast<std::size_t>(unit)].sum();
    most = std::max(most, sum);
  }
  return most;
}

/// Returns the time of the slowest stage in the best of all ways to lay out units from `begin` on.
double best_of_all(const std::vector<UnitCost>& costs, std::size_t begin, int num_stages) {
  double first = 0, best = 1e300;
  if (num_stages == 0) return begin == costs.size() ? 0 : best;
  for (std::size_t end = begin + 1; end <= costs.size(); ++end) {
    first += costs[end - 1].sum();
    best = std::min(best, std::max(first, best_of_all(costs, end, num_stages - 1)));
  }
  return best;
}

}  // namespace

TEST_CASE("the slowest stage is as fast as in the best of all ways") {
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> cost(0.1, 3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<UnitCost> costs(static_cast<std::size_t>(4 + trial % 6));
    for (UnitCost& c : costs) c = {cost(random), cost(random), cost(random)};
    for (int stages = 1; stages <= 4; ++stages)
      CHECK(slowest(balance_stages(costs, stages), costs) == Approx(best_of_all(costs, 0, stages)));
  }
}

TEST_CASE("a heavy head shares its stage with fewer blocks, and the rest is even") {
  std::vector<UnitCost> costs(14, {1, 1, 1});
  costs.front() = {0.1, 0, 0.1};
  costs.back() = {6, 0, 0};
  CHECK(balance_stages(costs, 4) == Stages{{0, 4, 7, 11, 14}});
}

TEST_CASE("among stages with the same slowest the most equal are taken") {
  std::vector<UnitCost> costs(7, {1, 0, 0});
  costs.back() = {3, 0, 0};
  CHECK(balance_stages(costs, 3) == Stages{{0, 3, 6, 7}});
}

TEST_CASE("stages know their units") {
  const Stages stages = stages_from_counts(std::vector{2, 1, 3}, 6);
  CHECK(stages.begins == std::vector{0, 2, 3, 6});
  CHECK(stages.stage_of(0) == 0);
  CHECK(stages.stage_of(2) == 1);
  CHECK(stages.stage_of(5) == 2);
}

TEST_CASE("stages that do not hold the model are refused") {
  CHECK_THROWS_WITH(stages_from_counts(std::vector{2, 2}, 5),
                    Catch::Contains("4 units in total; the model has 5"));
  CHECK_THROWS_WITH(stages_from_counts(std::vector{5, 0}, 5), Catch::Contains("at least 1"));
  CHECK_THROWS_WITH(balance_stages(std::vector<UnitCost>(3), 4),
                    Catch::Contains("3 units cannot be divided into 4 stages"));
}
