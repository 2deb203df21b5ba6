// Tests that equal gradients give bf16 moments and an average of the weights with equal bits in any layout.

#include "train/step/weight_update.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <mutex>

#include "comm/threads/thread_group.hpp"
#include "model/initialise.hpp"
#include "parallel/grouped_spec.hpp"
#include "train/step/weight_average.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr int num_steps = 3;
constexpr double lr = 0.02, ema = 0.75;

/// The bytes of every element of every parameter and kind of state after the steps, by name.
using State = std::map<std::string, std::vector<std::byte>>;

struct Outcome {
  State state;
  std::mutex mutex;
};

/// Calls use(index in the owned range, global element) for each element that a rank holds of a parameter.
template <class Use>
void for_elements_of(const LocalParam& param, const Use& use) {
  for (const CopyRange& run : intersect(param.owned_piece, Piece::whole(param.owned_piece.global))) {
    for (std::int64_t i = 0; i < run.count; ++i) use(run.source + i, run.target + i);
  }
}

void put(State& state, const std::string& name, const LocalParam& param, const Tensor& values) {
  const std::size_t bytes = dtype_bytes(values.dtype());
  std::vector<std::byte>& whole = state[name];
  whole.resize(static_cast<std::size_t>(param.owned_piece.global.numel()) * bytes);
  for_elements_of(param, [&](std::int64_t here, std::int64_t element) {
    std::copy_n(values.raw() + static_cast<std::size_t>(here) * bytes, bytes,
                whole.begin() + element * static_cast<std::int64_t>(bytes));
  });
}

/// Makes a step's sums, which are zeros, so that the gradients can be set.
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

void set_gradients(const ModelStorage& storage, int step) {
  for (const LocalParam& param : storage.local().params()) {
    if (!storage.local().group(param.group).has_state || param.owned_piece.numel() == 0) continue;
    float* const gradient = storage.group_gradient(param.group).data<float>() + param.owned_offset;
    for_elements_of(param, [&](std::int64_t here, std::int64_t element) {
      gradient[here] =
          static_cast<float>(std::sin(0.37 * static_cast<double>(element) + 1.3 * param.param + 2.1 * step));
    });
  }
}

void train_on_rank(comm::Communicator& world, const model::Layout& layout, const Precision& precision,
                   const optim::OptimizerSettings& settings, Outcome& outcome) {
  model::ModelSpec spec = dt_test::grouped_spec(3, false);
  spec.mlp_hidden = 331;  // flat buffers that ZeRO cuts are longer than a granule
  const model::ParameterTable table(spec);
  const Context context(1, Device::host());
  const LanePlan lanes =
      LanePlan(layout.dp, layout.dp).of_rank(layout.coordinates_of(world.rank()).dp, layout.dp);
  Groups groups(layout, world, {}, spec.key_value_heads);
  if (settings.kind == optim::OptimizerKind::muon) groups.make_stage(layout);
  const LocalTable local(table, layout, layout.coordinates_of(world.rank()));
  std::vector<StateKind> kinds = optim::state_kinds(settings);
  kinds.emplace_back(kernels::average_kind);
  ModelStorage storage(Device::host(), local, precision, &lanes, groups, kinds);
  for (const LocalParam& param : local.params())
    storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local.spec(param), 7, piece, values, 1);
    });
  train::start_average(context, storage);
  train::WeightUpdate update(context, storage, settings, {}, ema);
  for (int step = 1; step <= num_steps; ++step) {
    complete_gradients(context, storage, lanes);
    set_gradients(storage, step);
    update.run({.settings = settings, .lr = lr, .step = step, .grad_scale = 0.5, .rounding_key = {3, 4}}, lr);
  }
  const std::scoped_lock lock(outcome.mutex);
  for (const LocalParam& param : local.params()) {
    if (!local.group(param.group).has_state || param.owned_piece.numel() == 0) continue;
    const std::string& name = local.spec(param).name;
    put(outcome.state, name, param,
        storage.group_masters(param.group).flat(param.owned_offset, param.owned_piece.numel()));
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      if (storage.state_layout(kind).covers(param))
        put(outcome.state, kinds[kind].name + "/" + name, param, storage.param_state(param, kind));
    }
  }
}

State train_layout(const model::Layout& layout, const optim::OptimizerSettings& settings,
                   const Precision& precision = {}) {
  Outcome outcome;
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    train_on_rank(world, layout, precision, settings, outcome);
    return 0;
  });
  return std::move(outcome.state);
}

std::span<const float> floats(const State& state, const std::string& name) {
  const std::vector<std::byte>& bytes = state.at(name);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

TEST_CASE("moments in bf16 and the average have equal bits in any layout") {
  for (const optim::OptimizerKind kind : {optim::OptimizerKind::adamw, optim::OptimizerKind::muon}) {
    const auto settings = optim::resolve({.kind = kind, .moments = optim::MomentType::bf16});
    const State single = train_layout({}, settings);
    for (const model::Layout& layout :
         {model::Layout{.dp = 2}, model::Layout{.dp = 2, .zero = 1},
          model::Layout{.dp = 4, .zero = 1, .zero_group = 2}, model::Layout{.dp = 3, .zero = 2},
          model::Layout{.dp = 4, .zero = 3}, model::Layout{.tp = 2},
          model::Layout{.dp = 2, .tp = 4, .zero = 1}, model::Layout{.pp = 2},
          model::Layout{.pp = 2, .dp = 2, .tp = 2, .zero = 1}}) {
      CAPTURE(layout.to_string());
      CHECK(train_layout(layout, settings) == single);
    }
    const std::string others = "embedding.token.weight";
    CHECK(single.at("adam_m/" + others).size() * 2 == single.at(others).size());
    if (kind == optim::OptimizerKind::muon)
      CHECK(single.at("muon_m/layers.0.mlp.up.weight").size() == single.at("layers.0.mlp.up.weight").size());
  }
}

TEST_CASE("weights with moments in bf16 stay near those with moments in fp32") {
  const std::string name = "layers.1.mlp.up.weight";
  const State exact = train_layout({}, optim::resolve({}));
  const State rounded = train_layout({}, optim::resolve({.moments = optim::MomentType::bf16}));
  double largest = 0;
  for (std::size_t i = 0; i < floats(exact, name).size(); ++i)
    largest = std::max(largest, std::abs(double{floats(exact, name)[i]} - double{floats(rounded, name)[i]}));
  CHECK(largest > 0);
  CHECK(largest < num_steps * lr / 64);  // a step moves by about lr; bf16 has 8 bits
}

TEST_CASE("the average follows the weights from where they start") {
  const auto settings = optim::resolve({.kind = optim::OptimizerKind::sgd, .momentum = 0});
  const State trained = train_layout({}, settings, {.compute = DType::bf16});
  const std::string name = "layers.0.attention.v.weight";
  const model::ParameterTable table([] {
    model::ModelSpec spec = dt_test::grouped_spec(3, false);
    spec.mlp_hidden = 331;
    return spec;
  }());
  const int param = table.find(name);
  const model::ParamSpec& spec = table.params()[static_cast<std::size_t>(param)];
  std::vector<float> start(static_cast<std::size_t>(spec.shape.numel()));
  model::initialise(spec, 7, Piece::whole(spec.shape),
                    Tensor(start.data(), DType::f32, spec.shape, Device::host()), 1);
  for (std::size_t i = 0; i < start.size(); ++i) {
    double w = start[i], average = start[i];
    for (int step = 1; step <= num_steps; ++step) {
      w -= lr * 0.5 *
           double{static_cast<float>(std::sin(0.37 * static_cast<double>(i) + 1.3 * param + 2.1 * step))};
      average = ema * average + (1 - ema) * w;
    }
    REQUIRE(double{floats(trained, name)[i]} == Approx(w).epsilon(1e-5).margin(1e-6));
    REQUIRE(double{floats(trained, "ema/" + name)[i]} == Approx(average).epsilon(1e-5).margin(1e-6));
  }
}
