// Auxiliary losses of units in whole steps of training, with ranks as threads.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

#include "base/text/text.hpp"
#include "train/trained_job.hpp"
#include "train/trainer.hpp"

using namespace dt;
using namespace dt::train;
using dt_test::Job, dt_test::Steps, dt_test::learning_rate, dt_test::largest_difference, dt_test::make_steps,
    dt_test::mixture;

namespace {

using Json = nlohmann::json;
constexpr test::ToyKind counting(test::toy_coefficient, true);
constexpr test::ToyKind silent(0), infinite(std::numeric_limits<double>::infinity()), overflowing(1e307);

struct Run {
  dt_test::Caught error;
  std::vector<Json> lines;  // train lines of metrics.jsonl
};

/// Trains a job in a run directory.
Run train_as_run(const Job& job, const run::RunDirectory& directory) {
  const dt_test::Captured out(STDOUT_FILENO), warnings(STDERR_FILENO);
  const StopSignals signals;
  directory.create();
  const auto body = [&](comm::Communicator& world) {
    Console console(
        {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never});
    const comm::Ranks ranks{world, console, [](const Error&) {}};
    Start start = job.start(world);
    const run::Generation generation = directory.claim("", 0);
    return Trainer(mixture(), directory, generation, nullptr, start, signals, ranks).run();
  };
  Run run{.error = dt_test::caught([&] { comm::run_alone(body); }), .lines = {}};
  for (const std::string& line : split(dt_test::content(directory.path() / "metrics.jsonl"), '\n'))
    if (!line.empty()) run.lines.push_back(Json::parse(line));
  std::erase_if(run.lines, [](const Json& line) { return line["kind"] != "train"; });
  return run;
}

}  // namespace

TEST_CASE("a step's auxiliary losses are the means of their terms over tokens, summed over units") {
  Job job(counting, test::toy_kind());
  job.spec.norm_eps = 1e-30;
  // Rows of ±1 make the terms of a token the squares of its normalized hidden values.
  const auto hidden = static_cast<std::size_t>(job.spec.hidden);
  job.change = [&](const std::string& name, std::span<double> values) {
    for (std::size_t i = 0; name.ends_with("toy.up.weight") && i < values.size(); ++i)
      values[i] = i / hidden % hidden != i % hidden ? 0 : i / hidden < hidden ? 1 : -1;
  };
  const Decision decision = make_steps(job).decisions.at(0);
  CHECK(decision.targets > 0);
  CHECK(decision.targets < 4 * 8);
  const double expected = 2 * static_cast<double>(hidden);
  REQUIRE(decision.auxiliary.size() == 2);
  CHECK(decision.auxiliary[0].loss.name == "toy_rows");
  CHECK(decision.auxiliary[0].value == 1);  // one unit has it
  CHECK(decision.auxiliary[1].loss.name == "toy_squares");
  CHECK(decision.auxiliary[1].value == Approx(expected).epsilon(1e-12));
  const double all = test::toy_coefficient * (1 + expected);
  CHECK(decision.total_loss() == Approx(decision.loss + all).epsilon(1e-12));
}

TEST_CASE("z-loss is a mean over targets beside a loss that is the nll alone") {
  Job job(model::swiglu_mlp()), with(model::swiglu_mlp());
  with.settings.z_loss = 0.1;
  const auto no_logits = [](const std::string& name, std::span<double> values) {
    if (name == "head.weight") std::ranges::fill(values, 0);
  };
  job.change = with.change = no_logits;
  const Decision plain = make_steps(job).decisions.at(0), decision = make_steps(with).decisions.at(0);
  CHECK(plain.auxiliary.empty());
  REQUIRE(decision.auxiliary.size() == 1);
  CHECK(decision.auxiliary[0].loss == model::AuxiliaryLoss{"z_loss", 0.1, true});
  const double log_of_all = std::log(static_cast<double>(job.spec.vocabulary));
  CHECK(decision.targets < 4 * 8);
  CHECK(decision.loss == plain.loss);
  CHECK(decision.loss == Approx(log_of_all).epsilon(1e-12));
  CHECK(decision.auxiliary[0].value == Approx(log_of_all * log_of_all).epsilon(1e-12));
  CHECK(decision.total_loss() == Approx(decision.loss + 0.1 * decision.auxiliary[0].value).epsilon(1e-12));
}

TEST_CASE("layouts, micro-batches and recompute change neither auxiliary losses nor weights") {
  const Steps expected = make_steps(Job());
  const auto check = [&](int num_ranks, double tolerance, const std::function<void(plan::Settings&)>& set) {
    Job job;
    job.num_ranks = num_ranks;
    set(job.settings);
    const Steps result = make_steps(job);
    CAPTURE(num_ranks, job.settings.pp, job.settings.tp, job.settings.cp, job.settings.micro_batch);
    REQUIRE(result.decisions.size() == 2 * static_cast<std::size_t>(num_ranks));
    for (std::size_t i = 0; i < result.decisions.size(); ++i) {
      const Decision &one = result.decisions[i], &same_step = expected.decisions.at(i % 2);
      CHECK(std::abs(one.auxiliary.at(0).value - same_step.auxiliary.at(0).value) <= tolerance);
      CHECK(std::abs(one.total_loss() - same_step.total_loss()) <= tolerance);
    }
    CHECK(largest_difference(expected.after, result.after) <= tolerance);
  };
  check(2, 0, [](auto&) {});
  check(2, 0, [](auto& s) { s.pp = 2; });
  check(4, 0, [](auto& s) { s.pp = 2, s.recompute = plan::Recompute::full; });
  check(1, 0, [](auto& s) { s.recompute = plan::Recompute::full; });
  check(1, 0, [](auto& s) { s.recompute = plan::Recompute::selective; });
  check(1, 1e-12, [](auto& s) { s.micro_batch = 1; });
  check(1, 1e-12, [](auto& s) { s.micro_batch = 4, s.grad_lanes = 1; });
  check(2, 1e-12, [](auto& s) { s.tp = 2; });
  check(2, 1e-12, [](auto& s) { s.cp = 2; });
}

TEST_CASE("a step of two micro-batches descends the slope of the total loss") {
  Job job, without(silent);
  job.settings.z_loss = 0.05;
  job.spec.logit_scale = 1.5, job.spec.logit_softcap = 3;
  without.spec.logit_scale = 1.5, without.spec.logit_softcap = 3;
  job.settings.duration.steps = without.settings.duration.steps = 1;
  const Steps result = make_steps(job), plain = make_steps(without);
  CHECK(plain.decisions.at(0).total_loss() == result.decisions.at(0).loss);
  CHECK(plain.decisions.at(0).auxiliary.at(0).value == result.decisions.at(0).auxiliary.at(0).value);
  const model::ParameterTable table(job.spec);
  for (const char* name : {"layers.1.attention.v.weight", "layers.1.toy.up.weight", "head.weight"}) {
    INFO(name);
    constexpr std::size_t element = 5;
    const auto total_at = [&](double offset) {
      job.change = [&](const std::string& changed, std::span<double> values) {
        if (changed == name) values[element] += offset;
      };
      return make_steps(job).decisions.at(0).total_loss();
    };
    const double slope = (total_at(1e-5) - total_at(-1e-5)) / 2e-5;
    const auto p = std::ranges::find(table.params(), name, &model::ParamSpec::name) - table.params().begin();
    const auto gradient = [&](const Steps& of) {
      const auto i = static_cast<std::size_t>(p);
      return (of.before.at(i).at(element) - of.after.at(i).at(element)) / learning_rate;
    };
    CHECK(std::abs(gradient(result) - slope) < 1e-6 * std::max(1.0, std::abs(slope)));
    CHECK(std::abs(gradient(plain) - slope) > 1e-3);
  }
}

TEST_CASE("the loss scale divides out of auxiliary losses and of their gradients") {
  Job job;
  job.settings.z_loss = 0.05;
  const Steps expected = make_steps(job);
  for (const bool is_fixed : {true, false}) {
    job.loss_scale.emplace().growth_steps = 1;
    if (is_fixed) job.loss_scale->fixed = 1024;
    const Steps result = make_steps(job);
    CHECK(result.state.loss_scale == (is_fixed ? 1024 : 4 * job.loss_scale->initial));
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(result.decisions.at(i).total_loss() == expected.decisions.at(i).total_loss());
      CHECK(result.decisions.at(i).grad_norm == expected.decisions.at(i).grad_norm);
    }
    CHECK(result.after == expected.after);
  }
}

TEST_CASE("no lower loss scale is tried for an auxiliary loss that is not finite") {
  const auto check = [](Job job, int num_ranks, bool skips) {
    job.num_ranks = num_ranks;
    job.loss_scale.emplace();
    const Steps result = make_steps(job);
    for (const Decision& decision : result.decisions) {
      CHECK(std::isfinite(decision.loss));
      CHECK(std::isfinite(decision.total_loss()) == skips);
      CHECK_FALSE(decision.finite);
      CHECK(decision.skip == skips);
    }
    CHECK(result.state.step == (skips ? 1 : 0));
    CHECK(result.after == result.before);
  };
  check(Job(infinite), 1, false);
  check(Job(infinite), 2, false);
  check(Job(overflowing), 1, true);  // gradients alone are infinite
}

TEST_CASE("metrics have auxiliary losses if there are some; a run ends if one is not finite") {
  const dt_test::Folder folder;
  const Steps expected = make_steps(Job());
  const Run toy = train_as_run(Job(), run::RunDirectory(folder / "toy"));
  CHECK(toy.error.says("config.json cannot express"));  // the save after the last step
  REQUIRE(toy.lines.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Decision& decision = expected.decisions.at(i);
    CHECK(toy.lines[i]["loss"] == decision.loss);
    CHECK(toy.lines[i]["auxiliary_losses"] == Json{{"toy_squares", decision.auxiliary.at(0).value}});
  }
  const Run mlp = train_as_run(Job(model::swiglu_mlp()), run::RunDirectory(folder / "mlp"));
  CHECK_FALSE(mlp.error.thrown);
  REQUIRE(mlp.lines.size() == 2);
  for (const Json& line : mlp.lines) CHECK_FALSE(line.contains("auxiliary_losses"));
  const Run ended = train_as_run(Job(infinite), run::RunDirectory(folder / "infinite"));
  CHECK(ended.error.kind == ErrorKind::input);
  CHECK(ended.error.says("step 1: loss inf, gradient norm"));
  CHECK(ended.error.says("the initial weights cause this"));
  CHECK(ended.lines.empty());
}
