#include "plan/time/forecast.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "base/text/text.hpp"
#include "parallel/schedule/stages.hpp"
#include "plan/action_lists.hpp"
#include "plan/choose_layout.hpp"
#include "plan/settings.hpp"

using namespace dt;
using namespace dt::plan;

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

Settings pipeline(std::int64_t pp, std::string_view schedule, std::int64_t virtual_stages = 1) {
  Settings s;
  s.pp = pp;
  s.pp_schedule = parse_name<model::PipelineScheduleKind>(schedule).value();
  s.virtual_stages = virtual_stages;
  return s;
}

/// Returns the bubble if every computation of every unit takes a second.
double bubble_of_equal_units(const Plan& plan) {
  const std::vector<parallel::UnitCost> times(static_cast<std::size_t>(plan.spec.layers) + 2, {1, 1, 1});
  return forecast_step(plan, times, 1e30).timeline.bubble_ratio();
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
  CHECK(predicted_bubble_ratio(plan) == Approx(0).margin(1e-9));
  CHECK(describe_zero_comm_cost(plan).empty());
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
  CHECK(slow.comm_bytes[0].activations == boundary_bytes);
  CHECK(slow.comm_bytes[1].activation_gradients == boundary_bytes);
  CHECK(slow.timeline.end_s() >= free_s + 19);
}

TEST_CASE("data-parallel ranks: the one with the most micro-batches is drawn, all ranks' sums are counted") {
  const Plan plan = plan_of(pipeline(2, "1f1b"), 4, 6, 7);
  CHECK(busiest_rank_plan(plan, 0).lane_plan().num_micro_batches() == 4);
  const Forecast forecast = forecast_step(plan, predicted_unit_times(plan, 1e12), 1e10);
  CHECK(forecast.lists.size() == 2);
  CHECK(forecast.pipeline.schedule.num_micro_batches == 4);
  CHECK(forecast.comm_bytes[0].weight_gradients > 0);
}

TEST_CASE("what is summed takes between nodes what ranks send there, as nodes have them") {
  const auto seconds = [](const std::vector<int>& hosts, DType wire) {
    Plan plan = plan_of({}, 4, 2, 4);
    plan.launch.hosts = hosts;
    plan.precision.reduce = wire;
    const std::vector<parallel::UnitCost> no_times(4);
    return forecast_step(plan, no_times, {1e30, 1e9}).timeline.end_s();
  };
  const std::vector<int> rows{0, 0, 1, 1}, in_turns{0, 1, 0, 1};
  CHECK(seconds(rows, DType::f32) == Approx(seconds(in_turns, DType::f32) / 2));
  // Two 16-bit values take no more bytes than their sum. Nodes gather the sum all the same.
  CHECK(seconds(rows, DType::bf16) == Approx(seconds(in_turns, DType::bf16) * 3 / 4));
  CHECK(seconds({0, 0, 0, 0}, DType::f32) < 1e-9);
}

TEST_CASE("a pipeline and ZeRO's price are told in a line") {
  Settings s = pipeline(2, "1f1b");
  s.stage_units = {"3", "5"};
  const std::string text = describe_pipeline(plan_of(s, 2, 6, 16));
  CHECK_THAT(text, Catch::StartsWith("2 stages of 3+5 units, 1f1b, 16 micro-batches: predicted bubble ") &&
                       Catch::EndsWith(" % of the busiest stage's compute time"));
  CHECK_THAT(describe_pipeline(plan_of(s, 2, 6, 1)), Catch::Contains(", 1 micro-batch: "));
  CHECK_THAT(describe_pipeline(plan_of(pipeline(2, "zero-bubble", 2), 2, 6, 4)),
             Catch::StartsWith("4 virtual stages on 2 ranks of ") && Catch::Contains("zero-bubble"));
  s.zero = 1;
  CHECK(describe_zero_comm_cost(plan_of(s, 4, 6, 16)).empty());
  s.zero = 3;
  const Plan plan = plan_of(s, 4, 6, 16);
  CHECK_THAT(describe_zero_comm_cost(plan),
             Catch::StartsWith("--zero 3 with --pp 2 communicates ") &&
                 Catch::EndsWith(" gathers weights and reduces gradients for each micro-batch"));
}

TEST_CASE("ranks that share layers are told what each sends in a step, and what of it over the network") {
  // The model is llama-tiny in two blocks, with 64 tokens, one micro-batch and fp32. Rows of
  // features take 64 · H · 4 bytes. A block sums 2 forward and 2 backward, and gathers 6 if rows
  // are divided. Embedding and head have one sum each and, if rows are divided, one gather each.
  // The head also gathers 3 · tp doubles a row.
  const auto told = [](std::int64_t tp, std::int64_t cp, bool divides_rows, int ranks_per_node) {
    Settings s;
    s.tp = tp, s.cp = cp, s.sequence_parallel = divides_rows;
    Plan plan = plan_of(s, static_cast<int>(tp * cp), 2, 1);
    plan.launch.ranks_per_node = ranks_per_node;
    return describe_tensor_parallelism(plan);
  };
  const model::ModelSpec spec = model::load_model_spec("llama-tiny");
  const auto text = [](double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); };
  const double rows = 64.0 * static_cast<double>(spec.hidden) * 4, sums = 2 * 4 + 2, gathers = 2 * 6 + 2;
  const auto head = [](double tp) { return (tp - 1) / tp * 64 * 3 * tp * 8; };
  CHECK(told(2, 1, false, 2) ==
        "tensor parallelism over 2 ranks: each rank sends " + text(sums * rows + head(2)) + " per step");
  CHECK(told(2, 1, true, 2) == "tensor parallelism over 2 ranks, sequence parallelism: each rank sends " +
                                   text((sums + gathers) * rows / 2 + head(2)) + " per step");
  // On two nodes of two ranks each, a rank sends the other node N/4 to sum N bytes, and N/4 of the
  // whole sum.
  CHECK(told(4, 1, false, 2) == "tensor parallelism over 4 ranks: each rank sends " +
                                    text(1.5 * sums * rows + head(4)) + " per step, " +
                                    text(0.5 * sums * rows + head(4) / 3) + " of it between nodes");
  CHECK(told(2, 1, false, 1) == told(2, 1, false, 2) + ", all of it between nodes");
  // Keys and values of a block make one visit forward and one backward, and their gradients 2 on
  // the way home.
  const double features = 2.0 * static_cast<double>(spec.key_value_heads * spec.head_dim);
  const auto ring = [&](double tp) { return 2 * (1 + 1 + 2) * 32 * features / tp * 4; };
  CHECK(told(1, 2, false, 1) == "context parallelism over 2 ranks: each rank sends " + text(ring(1)) +
                                    " per step, all of it between nodes");
  const std::string both = "tensor parallelism over 2 ranks, context parallelism over 2: each rank sends " +
                           text((sums * rows + head(2)) / 2 + ring(2)) + " per step";
  CHECK(told(2, 2, false, 4) == both);
  CHECK(told(2, 2, false, 2) == both + ", " + text(ring(2)) + " of it between nodes");
  CHECK(told(2, 2, false, 1) == both + ", all of it between nodes");
}
