// From equal gradients Muon makes the same update, bit for bit, in any layout.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/newton_schulz.hpp"
#include "model/initialise.hpp"
#include "model/parameter_scope.hpp"
#include "optim/muon.hpp"
#include "parallel/grouped_spec.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "tensor/host_tensor.hpp"
#include "train/step/weight_update.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr int num_steps = 2;
constexpr double lr = 0.02, grad_scale = 0.5, adam_lr = 0.05;

/// Every element of every parameter and kind of state after the steps, by name.
using State = std::map<std::string, std::vector<float>>;

struct Outcome {
  State state;
  std::size_t state_bytes = 0;            // sum over kinds and ranks
  std::size_t scratch = 0, estimate = 0;  // the most of any rank
  std::mutex mutex;
};

float gradient_of(int param, std::int64_t element, int step) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(element) + 1.3 * param + 2.1 * step));
}

/// Calls use(index in the owned range, global element) for each element that a rank holds of a parameter.
template <class Use>
void for_elements_of(const LocalParam& param, const Use& use) {
  for (const CopyRange& run : intersect(param.owned_piece, Piece::whole(param.owned_piece.global))) {
    for (std::int64_t i = 0; i < run.count; ++i) use(run.source + i, run.target + i);
  }
}

void put(const Context& context, State& state, const std::string& name, const LocalParam& param,
         const Tensor& values) {
  const HostMirror mirror(context, values);
  std::vector<float>& whole = state[name];
  whole.resize(static_cast<std::size_t>(param.owned_piece.global.numel()));
  for_elements_of(param, [&](std::int64_t here, std::int64_t element) {
    whole[static_cast<std::size_t>(element)] = mirror.tensor().data<float>()[here];
  });
}

/// Makes a step's sums, of zeros, so that the gradients can be set.
void complete_gradients(const Context& context, ModelStorage& storage, const LanePlan& lanes) {
  GradientStore& gradients = storage.gradients();
  gradients.start_step(context);
  for (const int unit : storage.local().units()) {
    gradients.unit_gradients(context, unit, lanes.first_micro_batch());
    gradients.finish_micro_batch(context, unit, lanes.first_micro_batch());
    gradients.reduce(context, unit);
  }
  gradients.complete(context);
}

void train_on_rank(comm::Communicator& world, const model::ModelSpec& spec, const model::Layout& layout,
                   Device device, Outcome& outcome) {
  const model::ParameterTable table(spec);
  const Context context(1, device);
  const comm::ScopedDevice computes_on(world.engine(), context);
  const LanePlan lanes =
      LanePlan(layout.dp, layout.dp).of_rank(layout.coordinates_of(world.rank()).dp, layout.dp);
  Groups groups(layout, world, {}, spec.key_value_heads);
  groups.make_stage(layout);
  const LocalTable local(table, layout, layout.coordinates_of(world.rank()));
  const optim::OptimizerSettings settings =
      optim::resolve({.kind = optim::OptimizerKind::muon, .adam_lr = adam_lr});
  ModelStorage storage(device, local, Precision{}, &lanes, groups, optim::state_kinds(settings));
  for (const LocalParam& param : local.params())
    storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local.spec(param), 7, piece, values, 1);
    });
  train::WeightUpdate update(context, storage, settings);
  for (int step = 1; step <= num_steps; ++step) {
    complete_gradients(context, storage, lanes);
    for (const LocalParam& param : local.params()) {
      if (!local.group(param.group).has_state) continue;
      if (param.owned_piece.numel() == 0) continue;
      std::vector<float> gradient(static_cast<std::size_t>(param.owned_piece.numel()));
      for_elements_of(param, [&](std::int64_t here, std::int64_t element) {
        gradient[static_cast<std::size_t>(here)] = gradient_of(param.param, element, step);
      });
      kernels::copy(context, host_tensor(gradient),
                    storage.group_gradient(param.group).flat(param.owned_offset, std::ssize(gradient)));
      context.synchronize();
    }
    update.run({.settings = settings, .lr = lr, .step = step, .grad_scale = grad_scale}, 2 * lr);
  }
  const MatrixPlan plan(local);
  const std::scoped_lock lock(outcome.mutex);
  outcome.scratch = std::max(outcome.scratch, context.scratch().peak_bytes());
  outcome.estimate = std::max(outcome.estimate, plan.scratch_bytes(DType::f32));
  for (const LocalParam& param : local.params()) {
    if (!local.group(param.group).has_state || param.owned_piece.numel() == 0) continue;
    const std::string& name = local.spec(param).name;
    put(context, outcome.state, name, param,
        storage.group_masters(param.group).flat(param.owned_offset, param.owned_piece.numel()));
    for (std::size_t kind = 0; kind < storage.state_kinds().size(); ++kind) {
      if (!storage.state_layout(kind).covers(param)) continue;
      put(context, outcome.state, storage.state_kinds()[kind].name + "/" + name, param,
          storage.param_state(param, kind));
    }
  }
  outcome.state_bytes += storage.bytes().optimizer;
}

void train_layout(const model::ModelSpec& spec, const model::Layout& layout, Outcome& outcome,
                  Device device = Device::host()) {
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    train_on_rank(world, spec, layout, device, outcome);
    return 0;
  });
}

/// A model whose flat buffers ZeRO cuts: they are longer than a granule.
model::ModelSpec spec_of(std::int64_t mlp_hidden) {
  model::ModelSpec spec = dt_test::grouped_spec(3, false);
  spec.hidden = 24;
  spec.head_dim = 6;
  spec.mlp_hidden = mlp_hidden;
  return spec;
}

bool same_bits(const State& a, const State& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != values.size()) return false;
    if (std::memcmp(values.data(), other->second.data(), values.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("from equal gradients Muon makes equal updates in any layout") {
  const model::ModelSpec spec = spec_of(331);
  Outcome single;
  train_layout(spec, {}, single);
  for (const model::Layout& layout :
       {model::Layout{.dp = 2}, model::Layout{.dp = 4}, model::Layout{.dp = 2, .zero = 1},
        model::Layout{.dp = 4, .zero = 1}, model::Layout{.dp = 4, .zero = 1, .zero_group = 2},
        model::Layout{.dp = 3, .zero = 2}, model::Layout{.dp = 4, .zero = 3}, model::Layout{.tp = 2},
        model::Layout{.tp = 4}, model::Layout{.dp = 2, .tp = 4, .zero = 1}, model::Layout{.dp = 2, .tp = 2},
        model::Layout{.pp = 2}, model::Layout{.pp = 2, .dp = 2, .tp = 2, .zero = 1},
        model::Layout{.dp = 1, .tp = 2, .zero = 1, .cp = 2}}) {
    CAPTURE(layout.to_string());
    Outcome divided;
    train_layout(spec, layout, divided);
    CHECK(same_bits(divided.state, single.state));
    CHECK(divided.scratch <= divided.estimate + single.scratch);  // a product packs its operands
  }
}

TEST_CASE("on a device Muon makes the CPU's updates, and equal ones in any layout", "[device]") {
  const test_device::Use device(1);
  const model::ModelSpec spec = spec_of(331);
  Outcome host, single;
  train_layout(spec, {}, host);
  train_layout(spec, {}, single, Device::gpu(0));
  REQUIRE(single.state.size() == host.state.size());
  for (const auto& [name, values] : single.state) {
    CAPTURE(name);
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      largest = std::max(largest, std::abs(double{values[i]} - double{host.state.at(name)[i]}));
    CHECK(largest < 1e-5);
  }
  for (const model::Layout& layout :
       {model::Layout{.dp = 2}, model::Layout{.dp = 3, .zero = 2}, model::Layout{.dp = 2, .tp = 2, .zero = 1},
        model::Layout{.pp = 2, .dp = 2, .zero = 3}}) {
    CAPTURE(layout.to_string());
    Outcome divided;
    train_layout(spec, layout, divided, Device::gpu(0));
    CHECK(same_bits(divided.state, single.state));
  }
}

TEST_CASE("matrices of blocks have a momentum alone, and other parameters AdamW's moments") {
  const model::ModelSpec spec = spec_of(331);
  const model::ParameterTable table(spec);
  Outcome single;
  train_layout(spec, {}, single);
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
  const model::ModelSpec spec = spec_of(41);
  const model::ParameterTable table(spec);
  Outcome trained;
  train_layout(spec, {}, trained);
  for (const std::string name :
       {"layers.0.attention.v.weight", "layers.2.mlp.down.weight", "layers.1.mlp.up.weight"}) {
    CAPTURE(name);
    const int param = table.find(name);
    const Shape& shape = table.params()[static_cast<std::size_t>(param)].shape;
    std::vector<float> start(static_cast<std::size_t>(shape.numel()));
    model::initialise(table.params()[static_cast<std::size_t>(param)], 7, Piece::whole(shape),
                      Tensor(start.data(), DType::f32, shape, Device::host()), 1);
    std::vector<double> w(start.begin(), start.end()), b(w.size()), u(w.size()), x(w.size());
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
      largest = std::max(largest, std::abs(w[i] - static_cast<double>(trained.state.at(name)[i])));
    CHECK(largest < 2e-6);
  }
}
