#include "train/forecast.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "parallel/unit_costs.hpp"
#include "train/choose_layout.hpp"

using namespace dt;
using namespace dt::train;

namespace {

Plan plan_of(const Settings& s, int ranks, std::int64_t layers, std::int64_t micro_batches) {
  Plan plan;
  plan.spec = model::load_model_spec("llama-tiny");
  plan.spec.layers = layers;
  plan.launch = {.num_ranks = ranks};
  plan.sequence_length = 64;
  plan.global_batch = plan.micro_batches_per_step = micro_batches;
  plan.micro_batch = 1;
  plan.layout = choose_layout(s, plan.spec, plan.sequence_length, plan.launch);
  plan.grad_lanes = plan.layout.dp;
  return plan;
}

Settings pipeline(std::int64_t pp, std::string schedule, std::int64_t virtual_stages = 1) {
  Settings s;
  s.pp = pp;
  s.pp_schedule = std::move(schedule);
  s.virtual_stages = virtual_stages;
  return s;
}

/// Where all units take a second for each of their computations.
double bubble_of_equal_units(const Plan& plan) {
  const std::vector<parallel::UnitCost> times(static_cast<std::size_t>(plan.spec.layers) + 2, {1, 1, 1});
  return forecast_step(plan, times, 1e30).timeline.bubble();
}

Settings even(Settings s, int units) {
  s.stage_units.assign(static_cast<std::size_t>(s.pp * s.virtual_stages),
                       std::to_string(units / (s.pp * s.virtual_stages)));
  return s;
}

}  // namespace

TEST_CASE("with equal units the bubble is the papers'") {
  constexpr int units = 64;
  const auto bubble = [&](const Settings& s, int micro_batches) {
    return bubble_of_equal_units(plan_of(even(s, units), 4, units - 2, micro_batches));
  };
  CHECK(bubble(pipeline(4, "gpipe"), 16) == Approx(3.0 / 16).epsilon(0.05));
  CHECK(bubble(pipeline(4, "1f1b"), 16) == Approx(3.0 / 16).epsilon(0.05));
  CHECK(bubble(pipeline(4, "interleaved", 2), 16) == Approx(3.0 / 32).epsilon(0.05));
  CHECK(bubble(pipeline(4, "zero-bubble"), 16) == Approx(1.0 / 16).epsilon(0.05));
}

TEST_CASE("without stages there is no bubble") {
  const Plan plan = plan_of({}, 1, 2, 8);
  CHECK(predicted_bubble(plan) == Approx(0).margin(1e-9));
  CHECK(price_of_zero(plan).empty());
}

TEST_CASE("a step takes the FLOPs of the busiest stage, and what waits for it") {
  const Plan plan = plan_of({}, 1, 2, 8);
  const Forecast forecast = forecast_step(plan, predicted_unit_times(plan, 1e9), 1e9);
  const auto costs = parallel::unit_costs(plan.spec, 64, false);
  const double flops = std::accumulate(costs.begin(), costs.end(), 0.0,
                                       [](double sum, const auto& unit) { return sum + unit.sum(); });
  CHECK(forecast.timeline.end_s() == Approx(8 * 64 * flops / 1e9));
}

TEST_CASE("what moves takes its bytes over the link, beside computing where it can") {
  Plan plan = plan_of(pipeline(2, "gpipe"), 2, 6, 1);
  const std::vector<parallel::UnitCost> times(8, {1, 1, 1});
  const double boundary_bytes = 64.0 * static_cast<double>(plan.spec.hidden) * 4;
  const double free_s = forecast_step(plan, times, 1e30).timeline.end_s();
  const Forecast slow = forecast_step(plan, times, boundary_bytes / 10);  // 10 s a transfer
  CHECK(slow.moved[0].activations == boundary_bytes);
  CHECK(slow.moved[1].activation_gradients == boundary_bytes);
  CHECK(slow.timeline.end_s() >= free_s + 19);
}

TEST_CASE("data-parallel ranks: the one with the most micro-batches is drawn, all ranks' sums are counted") {
  const Plan plan = plan_of(pipeline(2, "1f1b"), 4, 6, 7);
  CHECK(busiest(plan, 0).lanes().num_micro_batches() == 4);
  const Forecast forecast = forecast_step(plan, predicted_unit_times(plan, 1e12), 1e10);
  CHECK(forecast.lists.size() == 2);
  CHECK(forecast.pipeline.schedule.num_micro_batches == 4);
  CHECK(forecast.moved[0].weight_gradients > 0);
}

TEST_CASE("a pipeline and ZeRO's price are told in a line") {
  Settings s = pipeline(2, "1f1b");
  s.stage_units = {"3", "5"};
  const std::string text = describe_pipeline(plan_of(s, 2, 6, 16));
  CHECK_THAT(text, Catch::StartsWith("2 stages of 3+5 units, 1f1b, 16 micro-batches: predicted bubble ") &&
                       Catch::EndsWith(" % over the busiest stage"));
  CHECK_THAT(describe_pipeline(plan_of(s, 2, 6, 1)), Catch::Contains(", 1 micro-batch: "));
  CHECK_THAT(describe_pipeline(plan_of(pipeline(2, "zero-bubble", 2), 2, 6, 4)),
             Catch::StartsWith("4 virtual stages on 2 ranks of ") && Catch::Contains("zero-bubble"));
  s.zero = 1;
  CHECK(price_of_zero(plan_of(s, 4, 6, 16)).empty());
  s.zero = 3;
  const Plan plan = plan_of(s, 4, 6, 16);
  CHECK_THAT(price_of_zero(plan), Catch::StartsWith("--zero 3 under --pp 2 gathers and reduces ") &&
                                      Catch::EndsWith("each micro-batch's weights and gradients"));
}
