// Tests muP: the coordinate check, and that factors of weights are equivalent to multipliers within the
// model.

#include <catch2/catch.hpp>

#include "train/width_trial.hpp"

using namespace dt;
using dt_test::widened;
using dt_test::WidthTrial;
using optim::OptimizerKind;

namespace {

constexpr std::int64_t narrow = 32, wide = 256;

struct Check {
  const char* preset;
  OptimizerKind optimizer;
  double lr;
  bool larger_heads = false;
};

/// Returns the ratios of the changes of the units' outputs in the widest model to those in the narrowest.
std::vector<double> growth(const Check& check, bool is_mup) {
  std::vector<std::vector<double>> changes;
  for (const std::int64_t width : {narrow, wide}) {
    WidthTrial trial{widened(check.preset, width, check.larger_heads)};
    trial.settings.optimizer.kind = check.optimizer;
    trial.settings.learning_rate.peak = check.lr;
    if (is_mup) trial.settings.mup.base_width = narrow;
    if (is_mup && check.larger_heads) trial.settings.mup.base_head_dim = 8;
    changes.push_back(trial.train(4).changes);
  }
  std::vector<double> ratios;
  for (std::size_t unit = 0; unit < changes[0].size(); ++unit)
    ratios.push_back(changes[1][unit] / changes[0][unit]);
  return ratios;
}

}  // namespace

// Source: Yang et al. 2022, appendix D.1.
TEST_CASE("steps change the outputs of units as much in a wide model as in a narrow one, under muP alone") {
  const Check check = GENERATE(
      Check{"llama-tiny", OptimizerKind::adamw, 0.01}, Check{"gpt2-124m", OptimizerKind::adamw, 0.01, true},
      Check{"llama-tiny", OptimizerKind::lion, 0.003, true}, Check{"gpt2-124m", OptimizerKind::sgd, 0.1},
      Check{"llama-tiny", OptimizerKind::muon, 0.05});
  const std::vector<double> mup = growth(check, true), standard = growth(check, false);
  CAPTURE(check.preset, name_of(check.optimizer), check.larger_heads, mup, standard);
  for (const double ratio : mup) {
    CHECK(ratio > 0.3);
    CHECK(ratio < 1.5);
  }
  for (std::size_t block = 1; block + 1 < standard.size(); ++block) CHECK(standard[block] > 5);
}

namespace {

/// A model four times as wide as its base, in f64 and without a term that breaks the equivalence.
WidthTrial four_times(const char* preset, OptimizerKind optimizer) {
  WidthTrial trial{widened(preset, 4 * narrow, true)};
  trial.settings.precision = DType::f64;
  trial.settings.optimizer.kind = optimizer;
  trial.settings.optimizer.weight_decay = 0.1;
  if (optimizer == OptimizerKind::adamw) trial.settings.optimizer.eps = 1e-290;
  trial.settings.learning_rate.peak = 0.01;
  trial.settings.parameter_classes.no_decay = {"embedding"};
  if (!trial.spec.tied) trial.settings.parameter_classes.no_decay.emplace_back("head");
  return trial;
}

}  // namespace

TEST_CASE("factors of weights train the model that has muP's multipliers of logits and scores") {
  const OptimizerKind optimizer = GENERATE(OptimizerKind::adamw, OptimizerKind::lion, OptimizerKind::sgd);
  const char* const preset = GENERATE("gpt2-124m", "qwen3-8b");
  CAPTURE(name_of(optimizer), preset);
  WidthTrial factors = four_times(preset, optimizer), multipliers = four_times(preset, optimizer);
  factors.settings.mup = {.base_width = narrow, .base_head_dim = 8};

  multipliers.spec.logit_scale = 0.25;
  multipliers.spec.score_scale = std::sqrt(8.0) / 32;
  multipliers.change = [](const model::ParamSpec& param, const Tensor& values) {
    if (!param.name.starts_with("layers.") || param.shape.rank() < 2) return;
    for (double& value : values.span<double>()) value /= 2;
  };
  std::vector<std::string>& scales = multipliers.settings.parameter_classes.lr_scale;
  if (optimizer == OptimizerKind::sgd) {
    scales = {"embedding=4", "norm=4"};
    scales.emplace_back(multipliers.spec.tied ? "bias=4" : "head=4");
  } else {
    scales = {"matrix=0.25"};
    multipliers.settings.optimizer.weight_decay = 0.4;  // matrices alone decay
  }

  const WidthTrial::Result a = factors.train(3), b = multipliers.train(3);
  CHECK(a.loss == Approx(b.loss).epsilon(1e-12));
  const model::ParameterTable table(factors.spec);
  const char* const scores = factors.spec.qk_norm == model::QkNorm::none ? "attention.q." : "q_norm";
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const std::string& name = table.params()[p].name;
    if (name.ends_with("attention.k.bias")) continue;  // its gradient is 0 but for rounding
    const double multiplier = name.starts_with("final_norm")           ? 0.25
                              : name.find(scores) != std::string::npos ? 0.5
                                                                       : 1;
    double most = 0;
    for (std::size_t i = 0; i < a.weights[p].size(); ++i)
      most = std::max(most, std::abs(a.weights[p][i] - multiplier * b.weights[p][i]));
    INFO(name);
    CHECK(most < 1e-10);
  }
}
