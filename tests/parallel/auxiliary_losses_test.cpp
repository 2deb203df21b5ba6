// Auxiliary losses of units, over layouts with ranks as threads.

#include <cmath>

#include "parallel/trained_layout.hpp"
#include "support/toy_feed_forward.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

namespace {

/// Returns a model of four layers, two of which have auxiliary losses, as the head has.
Setting toy_setting() {
  Setting setting{.layers = 4, .tied = false, .precision = fp64, .sequence = 8};
  setting.spec = grouped_spec(4, false);
  setting.z_loss = 0.1;
  const model::FeedForwardKind *toy = &test::toy_kind(), *mlp = &model::swiglu_mlp();
  setting.spec->feed_forward =
      model::PerLayer<const model::FeedForwardKind*>(std::vector{mlp, toy, toy, mlp});
  return setting;
}

std::vector<double> sums(const Result& result) {
  std::vector<double> values;
  for (const ExactSum& sum : result.auxiliary) values.push_back(sum.value());
  return values;
}

}  // namespace

TEST_CASE("stages, data ranks and recompute count each auxiliary loss once, with the same bits") {
  const Setting reference = toy_setting();
  const Result expected = train(reference);
  for (const double sum : sums(expected)) CHECK(sum > 0);
  for (const int pp : {1, 3}) {
    for (const int dp : {1, 2}) {
      for (const bool recompute : {false, true}) {
        Setting setting = reference;
        setting.layout = laid_out({.pp = pp, .dp = dp, .zero = dp == 2 ? 1 : 0}, num_units(setting));
        setting.recompute = recompute;
        setting.saved_activations =
            recompute ? model::SavedActivations::all : model::SavedActivations::matmuls;
        INFO(setting.layout.to_string() << (recompute ? " recompute" : ""));
        const Result result = train(setting, [&](Rank& rank) { check_held(setting, rank); });
        check_same(expected, result);
        CHECK(sums(result) == sums(expected));
      }
    }
  }
}

TEST_CASE("ranks that share layers, sequences or weights count each auxiliary loss once") {
  const Setting reference = toy_setting();
  const Result expected = train(reference);
  for (const model::Layout& layout : {model::Layout{.tp = 2},
                                      {.tp = 2, .sequence_parallel = true},
                                      {.tp = 4, .sequence_parallel = true},
                                      {.cp = 2},
                                      {.tp = 2, .sequence_parallel = true, .cp = 2},
                                      {.dp = 2, .zero = 3}}) {
    Setting setting = reference;
    setting.layout = layout;
    INFO(setting.layout.to_string());
    const Result result = train(setting);
    for (std::size_t step = 0; step < num_steps; ++step)
      CHECK(sums(result)[step] == Approx(sums(expected)[step]).epsilon(1e-12));
    for (std::size_t p = 0; p < expected.params.size(); ++p) {
      for (std::size_t i = 0; i < expected.params[p].size(); ++i)
        REQUIRE(std::abs(result.params[p][i] - expected.params[p][i]) < 1e-12);
    }
  }
}
