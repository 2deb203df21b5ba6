// Tests that equal gradients give the same update by Adafactor, bit for bit, in any layout.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/numeric/half.hpp"
#include "model/parameter_scope.hpp"
#include "optim/adafactor.hpp"
#include "parallel/grouped_spec.hpp"
#include "support/expert_table.hpp"
#include "train/updated_layout.hpp"

using namespace dt_test;

namespace {

/// A model with flat buffers that ZeRO divides, since they are longer than a granule.
model::ModelSpec dense_spec(bool is_tied) {
  model::ModelSpec spec = grouped_spec(3, is_tied);
  spec.hidden = 24;
  spec.head_dim = 6;
  spec.mlp_hidden = 331;
  return spec;
}

UpdatedModel dense_model(bool is_tied, const optim::OptimizerRequest& request = {}) {
  const model::ModelSpec spec = dense_spec(is_tied);
  optim::OptimizerRequest own = request;
  own.kind = optim::OptimizerKind::adafactor;
  return {model::ParameterTable(spec), spec.key_value_heads, optim::resolve(own)};
}

void check_layouts(const UpdatedModel& model, std::initializer_list<model::Layout> layouts) {
  Outcome single;
  update_layout(model, {}, single);
  for (const model::Layout& layout : layouts) {
    CAPTURE(layout.to_string());
    Outcome divided;
    update_layout(model, layout, divided);
    CHECK(divided.state == single.state);
    CHECK_FALSE(divided.replicas_differ);
    CHECK(divided.scratch <= divided.estimate);
  }
}

float round_to_bf16(float value) {
  return static_cast<float>(static_cast<BFloat16>(value));
}

/// The name of a matrix or vector, its rows, and its factors of the learning rate and of the weight decay.
struct Steps {
  std::string name;
  std::int64_t rows;
  double lr_scale = 1;
  double decay_scale = 1;
};

/// Makes the paper's steps of one matrix or vector in fp64, and returns its weights.
std::vector<double> steps_of_paper(const UpdatedModel& model, const Steps& steps) {
  const auto& [name, rows, lr_scale, decay_scale] = steps;
  const int param = model.table.find(name);
  const optim::OptimizerSettings& settings = model.settings;
  const model::ParamSpec& spec = model.table.params()[static_cast<std::size_t>(param)];
  std::vector<double> w = initial_weights(spec), v(w.size()), u(w.size());
  const std::size_t R = static_cast<std::size_t>(rows), C = w.size() / R;
  std::vector<double> r(R), c(C);
  const auto rms = [](const std::vector<double>& x) {
    double sum = 0;
    for (const double element : x) sum += element * element;
    return std::sqrt(sum / static_cast<double>(x.size()));
  };
  for (int t = 1; t <= num_steps; ++t) {
    const double beta = 1 - std::pow(t, -settings.beta2_decay);
    std::vector<double> g(w.size()), new_r(R, 1e-30), new_c(C, 1e-30);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const float gradient = gradient_of(param, static_cast<std::int64_t>(i), t);
      g[i] =
          grad_scale * double{model.precision.gradient == DType::bf16 ? round_to_bf16(gradient) : gradient};
      new_r[i / C] += g[i] * g[i] / static_cast<double>(C);
      new_c[i % C] += g[i] * g[i] / static_cast<double>(R);
      v[i] = beta * v[i] + (1 - beta) * (g[i] * g[i] + 1e-30);
    }
    double mean = 0;
    for (std::size_t i = 0; i < R; ++i) r[i] = beta * r[i] + (1 - beta) * new_r[i], mean += r[i] / double(R);
    for (std::size_t i = 0; i < C; ++i) c[i] = beta * c[i] + (1 - beta) * new_c[i];
    for (std::size_t i = 0; i < w.size(); ++i)
      u[i] = g[i] / std::sqrt(spec.shape.rank() == 1 ? v[i] : r[i / C] * c[i % C] / mean);
    double rate = settings.relative_step ? std::min(lr, 1 / std::sqrt(t)) : lr;
    if (settings.scale_parameter) rate *= std::max(1e-3, rms(w));
    if (settings.clip_threshold > 0) rate /= std::max(1.0, rms(u) / settings.clip_threshold);
    const double decay = spec.decays ? lr * settings.weight_decay * decay_scale : 0;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= lr_scale * (decay * w[i] + rate * u[i]);
  }
  return w;
}

void check_steps(const UpdatedModel& model, const std::vector<Steps>& params) {
  Outcome trained;
  update_layout(model, {}, trained);
  for (const Steps& steps : params) {
    CAPTURE(steps.name);
    const std::vector<double> expected = steps_of_paper(model, steps);
    const std::span<const float> actual = floats(trained.state, steps.name);
    REQUIRE(actual.size() == expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      largest = std::max(largest, std::abs(expected[i] - double{actual[i]}));
    CHECK(largest < 3e-7);
  }
}

}  // namespace

TEST_CASE("from equal gradients Adafactor makes equal updates in any layout") {
  check_layouts(dense_model(false, {.weight_decay = 0.1, .scale_parameter = true}),
                {{.dp = 2},
                 {.dp = 2, .zero = 1},
                 {.dp = 4, .zero = 1, .zero_group = 2},
                 {.dp = 3, .zero = 2},
                 {.dp = 4, .zero = 3},
                 {.tp = 2},
                 {.tp = 4},
                 {.dp = 2, .tp = 4, .zero = 1},
                 {.pp = 2},
                 {.pp = 2, .dp = 2, .tp = 2, .zero = 1},
                 {.dp = 1, .tp = 2, .zero = 1, .cp = 2}});
}

TEST_CASE("Adafactor updates a tied table where its state is, and each expert apart") {
  check_layouts(dense_model(true), {{.dp = 3, .zero = 1}, {.tp = 2}});
  const ExpertSizes sizes;
  const UpdatedModel experts{expert_table(), sizes.key_value_heads,
                             optim::resolve({.kind = optim::OptimizerKind::adafactor})};
  check_layouts(experts, {{.dp = 4, .ep = 2}, {.dp = 4, .zero = 1, .ep = 2}, {.dp = 2, .tp = 2, .ep = 2}});
}

TEST_CASE("matrices have moments of rows and columns, and vectors moments of elements") {
  const UpdatedModel model = dense_model(false);
  Outcome single;
  update_layout(model, {}, single);
  CHECK(floats(single.state, "adafactor_r/layers.1.mlp.up.weight").size() == 331);
  CHECK(floats(single.state, "adafactor_c/layers.1.mlp.up.weight").size() == 24);
  CHECK(floats(single.state, "adafactor_c/embedding.token.weight").size() == 24);
  CHECK(floats(single.state, "adafactor_v/final_norm.weight").size() == 24);
  CHECK_FALSE(single.state.contains("adafactor_v/head.weight"));
  CHECK_FALSE(single.state.contains("adafactor_r/final_norm.weight"));
  std::int64_t elements = 0;
  for (const optim::StateKind& kind : optim::state_kinds(model.settings))
    elements += model::count_state_elements(model.table, kind);
  const auto least = static_cast<std::size_t>(elements) * sizeof(float);
  CHECK(single.state_bytes >= least);
  CHECK(single.state_bytes <= least + 64 * single.state.size());  // alignment
  CHECK(10 * single.state_bytes < sizeof(float) * static_cast<std::size_t>(model.table.num_parameters()));
}

TEST_CASE("Adafactor's steps agree with the paper's") {
  for (const optim::OptimizerRequest& request : {optim::OptimizerRequest{},
                                                 {.weight_decay = 0.2, .clip_threshold = 0.3},
                                                 {.beta2_decay = 0.5, .clip_threshold = 0},
                                                 {.scale_parameter = true, .relative_step = true}}) {
    check_steps(dense_model(false, request), {{"layers.0.attention.v.weight", 12},
                                              {"layers.2.mlp.down.weight", 24},
                                              {"layers.1.mlp.up.weight", 331},
                                              {"final_norm.weight", 1}});
  }
}

/// The model is twice as wide as its base. Of muP's rules this takes AdamW's.
TEST_CASE("Adafactor's rates and decays have the factors of classes and of muP") {
  UpdatedModel model = dense_model(false, {.weight_decay = 0.2, .scale_parameter = true});
  plan::ParameterSettings& settings = model.parameter_settings;
  settings.mup =
      plan::Mup({.base_width = 12, .base_head_dim = {}}, dense_spec(false), optim::OptimizerKind::adamw);
  settings[model::ParameterClass::matrix].lr_scale = 0.5;
  settings[model::ParameterClass::norm].lr_scale = 3;
  settings[model::ParameterClass::embedding].decays = false;
  check_steps(model, {{"layers.2.mlp.down.weight", 24, 0.25, 2},
                      {"layers.1.mlp.up.weight", 331, 0.25, 2},
                      {"layers.1.mlp_norm.weight", 1, 3},
                      {"final_norm.weight", 1, 1.5},
                      {"embedding.token.weight", 7, 1, 0},
                      {"head.weight", 7}});
}

TEST_CASE("with Adafactor weights of 16 bits are rounded masters, and gradients may be bf16") {
  UpdatedModel model = dense_model(false, {.weight_decay = 0.1, .scale_parameter = true});
  model.precision = {.compute = DType::bf16, .gradient = DType::bf16};
  model.ema = 0.8;
  check_steps(model, {{"layers.2.mlp.down.weight", 24}, {"final_norm.weight", 1}});
  check_layouts(model, {{.dp = 2, .zero = 1}, {.dp = 3, .zero = 3}, {.tp = 2}, {.pp = 2}});
  Outcome trained;
  update_layout(model, {}, trained);
  for (const model::ParamSpec& param : model.table.params()) {
    CAPTURE(param.name);
    std::vector<BFloat16> rounded;
    for (const float master : floats(trained.state, param.name)) rounded.emplace_back(master);
    CHECK(std::ranges::equal(std::as_bytes(std::span(rounded)), trained.state.at("weights/" + param.name)));
  }
}
