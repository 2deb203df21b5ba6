// QK-clip in whole steps of training, with ranks as threads.

#include "optim/qk_clip.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "train/trained_job.hpp"

using namespace dt;
using namespace dt::train;
using dt_test::Job, dt_test::Steps, dt_test::Parameters, dt_test::copy_weights, dt_test::largest_difference,
    dt_test::make_steps, dt_test::mixture;

namespace {

constexpr double threshold = 0.5;

/// Returns a job of four layers. Most heads have scores above the threshold. Heads have keys of their own, or
/// share them.
Job clipping_job(std::int64_t key_value_heads = 4) {
  Job job(model::swiglu_mlp());
  job.spec.key_value_heads = key_value_heads;
  job.settings.qk_clip = threshold;
  job.settings.duration.steps = 3;
  return job;
}

/// Makes two steps of one rank with the same batch.
std::vector<optim::AttentionScores> scores_of_one_batch(const Job& job, Parameters& before,
                                                        Parameters& after) {
  std::vector<optim::AttentionScores> scores;
  mixture();
  comm::run_threads(1, [&](comm::Communicator& world) {
    Start start = job.start(world);
    copy_weights(start, before);
    Stepper stepper(start.plan, *start.runtime, mixture(), start.state, world);
    for (StepTimes times; scores.size() < 2; start.state.samples_consumed = 0) {
      scores.push_back(stepper.step({}, times).attention.value());
      if (scores.size() == 1) copy_weights(start, after);
    }
    return 0;
  });
  return scores;
}

}  // namespace

TEST_CASE("the factors of QK-clip bring a score down to the threshold") {
  for (const bool shares_keys : {false, true}) {
    const optim::QkClipFactors factors = optim::qk_clip_factors(400, 100, shares_keys);
    CHECK(factors.query * factors.key == Approx(0.25).epsilon(1e-15));
    CHECK(factors.key == (shares_keys ? 1 : 0.5));
    for (const double score : {100.0, -3.0, -std::numeric_limits<double>::infinity(), std::nan("")}) {
      const optim::QkClipFactors none = optim::qk_clip_factors(score, 100, shares_keys);
      CHECK(none.query == 1);
      CHECK(none.key == 1);
    }
  }
}

TEST_CASE("after a step the scores of its batch are at most the threshold") {
  const std::pair<const char*, std::function<void(Job&)>> forms[] = {
      {"keys of their own", [](Job&) {}},
      {"shared keys", [](Job& job) { job.spec.key_value_heads = 2; }},
      {"one key head", [](Job& job) { job.spec.key_value_heads = 1; }},
      {"biases", [](Job& job) { job.spec.qkv_bias = true; }},
      {"partial rotary",
       [](Job& job) { job.spec.attention = model::AttentionSpec{.rotary = {.partial_factor = 0.5}}; }},
      {"scaled and capped, windows",
       [](Job& job) {
         job.spec.attention = model::AttentionSpec{.window = 3};
         job.spec.score_scale = 1.5, job.spec.score_softcap = 0.3;
       }},
  };
  for (const auto& [form, change] : forms) {
    INFO(form);
    Job job = clipping_job();
    job.spec.layers = 1;  // the inputs of later layers change
    job.spec.feed_forward = &model::swiglu_mlp();
    job.spec.head_dim = 4;
    job.settings.learning_rate.peak = 0;
    job.change = [](const std::string& name, std::span<double> values) {
      for (std::size_t i = 0; name.ends_with("bias") && i < values.size(); ++i)
        values[i] = 0.3 * std::cos(static_cast<double>(i));
    };
    change(job);
    Parameters before, after;
    const std::vector<optim::AttentionScores> scores = scores_of_one_batch(job, before, after);
    CHECK(scores[0].max_score > 2 * threshold);
    CHECK(scores[0].num_clipped_heads > 0);
    CHECK(scores[1].max_score == Approx(threshold).epsilon(1e-12));
    const model::ParameterTable table(job.spec);
    for (std::size_t p = 0; p < before.size(); ++p) {
      const std::string& name = table.params()[p].name;
      const bool is_query = name.find("attention.q.") != std::string::npos,
                 is_key = name.find("attention.k.") != std::string::npos;
      INFO(name);
      CHECK((before[p] != after[p]) == (is_query || (is_key && job.spec.key_value_heads == 4)));
    }
  }
}

TEST_CASE("layouts, micro-batches and recompute change neither largest scores nor scaled weights") {
  for (const std::int64_t key_value_heads : {4, 2}) {
    for (const optim::OptimizerKind optimizer : {optim::OptimizerKind::sgd, optim::OptimizerKind::muon}) {
      const auto job_of = [&] {
        Job job = clipping_job(key_value_heads);
        job.settings.optimizer.kind = optimizer;
        job.settings.learning_rate.peak = 0.05;
        return job;
      };
      const Steps expected = make_steps(job_of());
      for (const Decision& decision : expected.decisions) CHECK(decision.attention->num_clipped_heads > 0);
      const auto check = [&](int num_ranks, double tolerance,
                             const std::function<void(plan::Settings&)>& set) {
        Job job = job_of();
        job.num_ranks = num_ranks;
        set(job.settings);
        const plan::Settings& s = job.settings;
        CAPTURE(num_ranks, s.pp, s.tp, s.cp, s.zero, s.micro_batch, key_value_heads);
        const Steps result = make_steps(job);
        REQUIRE(result.decisions.size() == 3 * static_cast<std::size_t>(num_ranks));
        for (std::size_t i = 0; i < result.decisions.size(); ++i) {
          const optim::AttentionScores one = *result.decisions[i].attention,
                                       same_step = *expected.decisions[i % 3].attention;
          CHECK(std::abs(one.max_score - same_step.max_score) <= tolerance);
          CHECK(one.num_clipped_heads == same_step.num_clipped_heads);
        }
        CHECK(largest_difference(expected.after, result.after) <= tolerance);
      };
      check(2, 0, [](auto&) {});
      check(2, 0, [](auto& s) { s.zero = 1; });
      check(2, 0, [](auto& s) { s.zero = 2; });
      check(2, 0, [](auto& s) { s.zero = 3; });
      check(2, 0, [](auto& s) { s.pp = 2; });
      check(4, 0, [](auto& s) { s.pp = 2, s.zero = 1, s.recompute = plan::Recompute::full; });
      check(1, 0, [](auto& s) { s.recompute = plan::Recompute::full; });
      check(1, 0, [](auto& s) { s.recompute = plan::Recompute::selective; });
      check(1, 1e-11, [](auto& s) { s.micro_batch = 1; });
      check(2, 1e-11, [](auto& s) { s.tp = 2; });
      check(4, 1e-11, [](auto& s) { s.tp = 4, s.sequence_parallel = true; });
      check(2, 1e-11, [](auto& s) { s.cp = 2; });
      check(4, 1e-11, [](auto& s) { s.cp = 2, s.tp = 2; });
    }
  }
}

TEST_CASE("without a score above the threshold, QK-clip changes no bit") {
  for (const DType precision : {DType::f64, DType::f32, DType::bf16}) {
    Job plain = clipping_job(2);
    plain.settings.precision = precision;
    plain.settings.qk_clip = 0;
    Job with = plain;
    with.settings.qk_clip = 1e30;
    const Steps expected = make_steps(plain), result = make_steps(with);
    CHECK(expected.after == result.after);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK_FALSE(expected.decisions[i].attention);
      CHECK(result.decisions[i].loss == expected.decisions[i].loss);
      CHECK(result.decisions[i].attention->max_score > threshold);
      CHECK(result.decisions[i].attention->num_clipped_heads == 0);
    }
  }
}

TEST_CASE("weights of 16 bits are rounded from scaled masters") {
  Job job = clipping_job();
  job.settings.precision = DType::bf16;
  comm::run_threads(1, [&](comm::Communicator& world) {
    Start start = job.start(world);
    Stepper stepper(start.plan, *start.runtime, mixture(), start.state, world);
    StepTimes times;
    CHECK(stepper.step({}, times).attention->num_clipped_heads > 0);
    parallel::ModelStorage& storage = start.runtime->storage();
    for (int group = 0; group < storage.num_groups(); ++group) {
      const Tensor masters = storage.group_masters(group), weights = storage.group_weights(group);
      const Buffer memory(Device::host(), weights.bytes());
      const Tensor rounded(memory, weights.dtype(), weights.shape());
      kernels::cast(start.runtime->context(), masters, rounded);
      CHECK(std::ranges::equal(rounded.span_bytes(), weights.span_bytes()));
    }
    return 0;
  });
}

TEST_CASE("a step without an update scales nothing") {
  constexpr test::ToyKind overflowing(1e307);
  Job job{overflowing};
  job.settings.qk_clip = threshold / 10;
  job.loss_scale.emplace();
  const Steps result = make_steps(job);
  REQUIRE(result.decisions.size() == 1);
  CHECK(result.decisions[0].skip);
  CHECK(result.decisions[0].attention->max_score > job.settings.qk_clip);
  CHECK(result.after == result.before);
}

TEST_CASE("QK-clip refuses models with norms of queries and keys, and GPUs") {
  Job job = clipping_job();
  const auto refuses = [&](const char* text, const plan::Launch& launch) {
    const dt_test::Caught error =
        dt_test::caught([&] { plan::Planner(job.settings, job.spec, &mixture(), launch).plan(); });
    CHECK(error.kind == ErrorKind::usage);
    CHECK(error.says(text));
  };
  job.settings.precision = DType::f32;
  refuses("which no kernel for GPUs returns", {.device = Device::gpu(0)});
  job.spec.qk_norm = model::QkNorm::per_head;
  refuses("normalizes queries and keys", {});
}
