#include <catch2/catch.hpp>

#include "model/flops.hpp"
#include "parallel/schedule/stages.hpp"

using namespace dt;
using namespace dt::parallel;

TEST_CASE("units cost what the FLOPs formula says, the embedding next to nothing") {
  const model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  const std::vector<UnitCost> costs = unit_costs(spec, 1024, false);
  REQUIRE(costs.size() == 14);
  double sum = 0;
  for (const UnitCost& cost : costs) sum += cost.sum();
  CHECK(sum == Approx(model::flops_per_token(spec, 1024)));
  CHECK(costs.front().sum() > 0);
  CHECK(costs.front().sum() < 1e-3 * costs[1].sum());
  CHECK(costs.back().forward == costs.back().sum());  // its forward makes its gradients, too
}

TEST_CASE("what is computed again is a forward more in each block's backward") {
  const model::ModelSpec spec = model::load_model_spec("llama-tiny");
  const std::vector<UnitCost> kept = unit_costs(spec, 100, false), again = unit_costs(spec, 100, true);
  CHECK(again[1].backward_input == kept[1].backward_input + kept[1].forward);
  CHECK(again[1].forward == kept[1].forward);
  CHECK(again[1].backward_weight == kept[1].backward_weight);
  for (const std::size_t end : {std::size_t{0}, kept.size() - 1}) CHECK(again[end].sum() == kept[end].sum());
}

TEST_CASE("GPT-2's head weighs five blocks, so its stage has fewer") {
  const auto costs = unit_costs(model::load_model_spec("gpt2-124m"), 1024, false);
  CHECK(balance_stages(costs, 4) == Stages{{0, 5, 9, 13, 14}});
}
