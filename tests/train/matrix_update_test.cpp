// From equal gradients Muon makes the same update, bit for bit, in any layout.

#include <catch2/catch.hpp>
#include <cmath>

#include "device/test_device.hpp"
#include "kernels/newton_schulz.hpp"
#include "model/parameter_scope.hpp"
#include "parallel/grouped_spec.hpp"
#include "train/updated_layout.hpp"

using namespace dt_test;

namespace {

/// A model whose flat buffers ZeRO cuts: they are longer than a granule.
model::ModelSpec spec_of(std::int64_t mlp_hidden) {
  model::ModelSpec spec = dt_test::grouped_spec(3, false);
  spec.hidden = 24;
  spec.head_dim = 6;
  spec.mlp_hidden = mlp_hidden;
  return spec;
}

UpdatedModel model_of(std::int64_t mlp_hidden) {
  const model::ModelSpec spec = spec_of(mlp_hidden);
  return {model::ParameterTable(spec), spec.key_value_heads,
          optim::resolve({.kind = optim::OptimizerKind::muon, .adam_lr = 0.05})};
}

}  // namespace

TEST_CASE("from equal gradients Muon makes equal updates in any layout") {
  const UpdatedModel model = model_of(331);
  Outcome single;
  update_layout(model, {}, single);
  for (const model::Layout& layout :
       {model::Layout{.dp = 2}, model::Layout{.dp = 4}, model::Layout{.dp = 2, .zero = 1},
        model::Layout{.dp = 4, .zero = 1}, model::Layout{.dp = 4, .zero = 1, .zero_group = 2},
        model::Layout{.dp = 3, .zero = 2}, model::Layout{.dp = 4, .zero = 3}, model::Layout{.tp = 2},
        model::Layout{.tp = 4}, model::Layout{.dp = 2, .tp = 4, .zero = 1}, model::Layout{.dp = 2, .tp = 2},
        model::Layout{.pp = 2}, model::Layout{.pp = 2, .dp = 2, .tp = 2, .zero = 1},
        model::Layout{.dp = 1, .tp = 2, .zero = 1, .cp = 2}}) {
    CAPTURE(layout.to_string());
    Outcome divided;
    update_layout(model, layout, divided);
    CHECK(divided.state == single.state);
    CHECK_FALSE(divided.replicas_differ);
    CHECK(divided.scratch <= divided.estimate + single.scratch);  // a product packs its operands
  }
}

TEST_CASE("on a device Muon makes the CPU's updates, and equal ones in any layout", "[device]") {
  const test_device::Use device(1);
  const UpdatedModel model = model_of(331);
  Outcome host, single;
  update_layout(model, {}, host);
  update_layout(model, {}, single, Device::gpu(0));
  REQUIRE(single.state.size() == host.state.size());
  for (const auto& [name, bytes] : single.state) {
    CAPTURE(name);
    const std::span<const float> values = floats(single.state, name), expected = floats(host.state, name);
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      largest = std::max(largest, std::abs(double{values[i]} - double{expected[i]}));
    CHECK(largest < 1e-5);
  }
  for (const model::Layout& layout :
       {model::Layout{.dp = 2}, model::Layout{.dp = 3, .zero = 2}, model::Layout{.dp = 2, .tp = 2, .zero = 1},
        model::Layout{.pp = 2, .dp = 2, .zero = 3}}) {
    CAPTURE(layout.to_string());
    Outcome divided;
    update_layout(model, layout, divided, Device::gpu(0));
    CHECK(divided.state == single.state);
  }
}

TEST_CASE("matrices of blocks have a momentum alone, and other parameters AdamW's moments") {
  const UpdatedModel model = model_of(331);
  const model::ParameterTable& table = model.table;
  Outcome single;
  update_layout(model, {}, single);
  const std::int64_t matrices = model::count_elements(table, model::ParameterScope::block_matrices);
  const std::int64_t others = model::count_elements(table, model::ParameterScope::others);
  CHECK(matrices + others == table.num_parameters());
  const auto most = static_cast<double>(4 * matrices + 8 * others);
  CHECK(static_cast<double>(single.state_bytes) >= most);
  CHECK(static_cast<double>(single.state_bytes) <= 1.02 * most);  // padding
  CHECK(single.state.contains("muon_m/layers.1.attention.k.weight"));
  CHECK(single.state.contains("adam_v/layers.1.attention_norm.weight"));
  CHECK(single.state.contains("adam_m/embedding.token.weight"));
  CHECK(single.state.contains("adam_m/head.weight"));
  CHECK_FALSE(single.state.contains("adam_m/layers.1.mlp.up.weight"));
  CHECK_FALSE(single.state.contains("muon_m/final_norm.weight"));
}

/// Makes the steps as the paper has them, in fp64.
TEST_CASE("Muon's steps agree with the formula") {
  const UpdatedModel model = model_of(41);
  const model::ParameterTable& table = model.table;
  Outcome trained;
  update_layout(model, {}, trained);
  for (const std::string name :
       {"layers.0.attention.v.weight", "layers.2.mlp.down.weight", "layers.1.mlp.up.weight"}) {
    CAPTURE(name);
    const int param = table.find(name);
    const Shape& shape = table.params()[static_cast<std::size_t>(param)].shape;
    std::vector<double> w = initial_weights(table.params()[static_cast<std::size_t>(param)]), b(w.size()),
                        u(w.size()), x(w.size());
    const Context context(1, Device::host());
    for (int step = 1; step <= num_steps; ++step) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        const double g = grad_scale * gradient_of(param, static_cast<std::int64_t>(i), step);
        b[i] = 0.95 * b[i] + 0.05 * g;
        u[i] = 0.05 * g + 0.95 * b[i];
      }
      kernels::newton_schulz(context, Tensor(u.data(), DType::f64, shape, Device::host()),
                             Tensor(x.data(), DType::f64, shape, Device::host()));
      const double rate = 0.2 * std::sqrt(static_cast<double>(std::max(shape[0], shape[1])));
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= lr * (0.1 * w[i] + rate * x[i]);
    }
    double largest = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
      largest = std::max(largest, std::abs(w[i] - double{floats(trained.state, name)[i]}));
    CHECK(largest < 2e-6);
  }
}
