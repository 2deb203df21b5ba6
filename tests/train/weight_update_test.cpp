// Tests that equal gradients give bf16 moments and an average of the weights with equal bits in any layout.

#include "train/step/weight_update.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "parallel/grouped_spec.hpp"
#include "train/updated_layout.hpp"

using namespace dt_test;

namespace {

/// Returns a model whose flat buffers ZeRO cuts: they are longer than a granule.
UpdatedModel averaged_model(const optim::OptimizerRequest& request) {
  model::ModelSpec spec = grouped_spec(3, false);
  spec.mlp_hidden = 331;
  UpdatedModel model{model::ParameterTable(spec), spec.key_value_heads, optim::resolve(request)};
  model.ema = 0.75;
  return model;
}

}  // namespace

TEST_CASE("the optimizers' state and the average have equal bits in any layout") {
  for (const optim::OptimizerKind kind :
       {optim::OptimizerKind::adamw, optim::OptimizerKind::muon, optim::OptimizerKind::adafactor}) {
    const UpdatedModel model = averaged_model({.kind = kind, .moments = optim::MomentType::bf16});
    Outcome single;
    update_layout(model, {}, single);
    for (const model::Layout& layout :
         {model::Layout{.dp = 2}, model::Layout{.dp = 2, .zero = 1},
          model::Layout{.dp = 4, .zero = 1, .zero_group = 2}, model::Layout{.dp = 3, .zero = 2},
          model::Layout{.dp = 4, .zero = 3}, model::Layout{.tp = 2},
          model::Layout{.dp = 2, .tp = 4, .zero = 1}, model::Layout{.pp = 2},
          model::Layout{.pp = 2, .dp = 2, .tp = 2, .zero = 1}}) {
      CAPTURE(name_of(kind), layout.to_string());
      Outcome divided;
      update_layout(model, layout, divided);
      CHECK(divided.state == single.state);
      CHECK_FALSE(divided.replicas_differ);
    }
    const std::string others = "embedding.token.weight", matrix = "layers.0.mlp.up.weight";
    const auto bytes_of = [&](const std::string& name) { return single.state.at(name).size(); };
    CHECK(bytes_of("ema/" + others) == bytes_of(others));
    if (kind != optim::OptimizerKind::adafactor) CHECK(bytes_of("adam_m/" + others) * 2 == bytes_of(others));
    if (kind == optim::OptimizerKind::muon) CHECK(bytes_of("muon_m/" + matrix) == bytes_of(matrix));
  }
}

TEST_CASE("weights with moments in bf16 stay near those with moments in fp32") {
  Outcome exact, rounded;
  update_layout(averaged_model({}), {}, exact);
  update_layout(averaged_model({.moments = optim::MomentType::bf16}), {}, rounded);
  const std::string name = "layers.1.mlp.up.weight";
  const std::span<const float> a = floats(exact.state, name), b = floats(rounded.state, name);
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  CHECK(largest > 0);
  CHECK(largest < num_steps * lr / 64);  // a step moves by about lr; bf16 has 8 bits
}

TEST_CASE("the average follows the weights from where they start") {
  UpdatedModel model = averaged_model({.kind = optim::OptimizerKind::sgd, .momentum = 0});
  model.precision = {.compute = DType::bf16};
  Outcome trained;
  update_layout(model, {}, trained);
  const std::string name = "layers.0.attention.v.weight";
  const int param = model.table.find(name);
  const std::vector<double> start = initial_weights(model.table.params()[static_cast<std::size_t>(param)]);
  const std::span<const float> weights = floats(trained.state, name),
                               averages = floats(trained.state, "ema/" + name);
  for (std::size_t i = 0; i < start.size(); ++i) {
    double w = start[i], average = start[i];
    for (int step = 1; step <= num_steps; ++step) {
      w -= lr * grad_scale * double{gradient_of(param, static_cast<std::int64_t>(i), step)};
      average = model.ema * average + (1 - model.ema) * w;
    }
    REQUIRE(double{weights[i]} == Approx(w).epsilon(1e-5).margin(1e-6));
    REQUIRE(double{averages[i]} == Approx(average).epsilon(1e-5).margin(1e-6));
  }
}
