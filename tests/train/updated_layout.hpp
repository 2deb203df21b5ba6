#pragma once
// Updates the weights of whole layouts, with ranks as threads, from gradients that do not depend on the
// layout.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "comm/threads/thread_group.hpp"
#include "kernels/elementwise.hpp"
#include "model/initialise.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "parallel/state/factored_layout.hpp"
#include "parallel/state/matrix_plan.hpp"
#include "tensor/host_tensor.hpp"
#include "train/step/weight_average.hpp"
#include "train/step/weight_update.hpp"

namespace dt_test {

using namespace dt;
using namespace dt::parallel;

inline constexpr int num_steps = 2;
inline constexpr double lr = 0.02, grad_scale = 0.5;

/// A model, its optimizer, and the decay of the average of its weights (0: no average).
struct UpdatedModel {
  model::ParameterTable table;
  std::int64_t key_value_heads;
  optim::OptimizerSettings settings;
  plan::ParameterSettings parameter_settings = {};
  Precision precision = {};
  double ema = 0;
};

/// The bytes of every element after the steps, by name: of masters, of each kind of state, and of weights if
/// they have masters.
using State = std::map<std::string, std::vector<std::byte>>;

inline std::span<const float> floats(const State& state, const std::string& name) {
  const std::vector<std::byte>& bytes = state.at(name);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

struct Outcome {
  State state;
  std::map<std::string, std::vector<bool>> is_set;  // the elements that a rank has set
  std::size_t state_bytes = 0;                      // sum over kinds and ranks
  std::size_t scratch = 0, estimate = 0;            // the largest of any rank
  bool replicas_differ = false;                     // ranks have different bits of an element
  std::mutex mutex;
};

inline float gradient_of(int param, std::int64_t element, int step) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(element) + 1.3 * param + 2.1 * step));
}

/// Calls use(index in the piece, global element) for each element of a piece.
template <class Use>
void for_elements_of(const Piece& piece, const Use& use) {
  for (const CopyRange& run : intersect(piece, Piece::whole(piece.global))) {
    for (std::int64_t i = 0; i < run.count; ++i) use(run.source + i, run.target + i);
  }
}

/// Sets the elements of a piece. Elements that another rank has set must have the same bits.
inline void put(const Context& context, Outcome& outcome, const std::string& name, const Piece& piece,
                const Tensor& values) {
  const HostMirror mirror(context, values);
  const std::size_t bytes = dtype_bytes(values.dtype()),
                    numel = static_cast<std::size_t>(piece.global.numel());
  std::vector<std::byte>& whole = outcome.state[name];
  std::vector<bool>& is_set = outcome.is_set[name];
  whole.resize(numel * bytes);
  is_set.resize(numel);
  for_elements_of(piece, [&](std::int64_t here, std::int64_t element) {
    const auto place = static_cast<std::size_t>(element);
    std::byte* const value = whole.data() + place * bytes;
    const std::byte* const own = mirror.tensor().raw() + static_cast<std::size_t>(here) * bytes;
    if (is_set[place] && std::memcmp(value, own, bytes) != 0) outcome.replicas_differ = true;
    std::memcpy(value, own, bytes);
    is_set[place] = true;
  });
}

/// Makes a step's sums, which are zeros, so that the gradients can be set.
inline void complete_gradients(const Context& context, ModelStorage& storage, const LanePlan& lanes) {
  GradientStore& gradients = storage.gradients();
  gradients.start_step(context);
  for (const int unit : storage.local().units()) {
    gradients.unit_gradients(context, unit, lanes.first_micro_batch());
    gradients.finish_micro_batch(context, unit, lanes.first_micro_batch());
    gradients.reduce(context, unit);
  }
  gradients.complete(context);
}

/// Sets this rank's gradients, rounded to their type.
inline void set_gradients(const Context& context, const ModelStorage& storage, int step) {
  const Context host(1, Device::host());
  for (const LocalParam& param : storage.local().params()) {
    const std::int64_t numel = param.owned_piece.numel();
    if (!storage.local().group(param.group).has_state || numel == 0) continue;
    std::vector<float> values(static_cast<std::size_t>(numel));
    for_elements_of(param.owned_piece, [&](std::int64_t here, std::int64_t element) {
      values[static_cast<std::size_t>(here)] = gradient_of(param.param, element, step);
    });
    const Tensor gradient = storage.group_gradient(param.group).flat(param.owned_offset, numel);
    const Buffer memory(Device::host(), gradient.bytes());
    const Tensor rounded(memory, gradient.dtype(), gradient.shape());
    kernels::cast(host, host_tensor(values), rounded);
    kernels::copy(context, rounded, gradient);
    context.synchronize();
  }
}

inline std::size_t estimated_scratch(const UpdatedModel& model, const LocalTable& local) {
  if (optim::updates_matrices(model.settings)) return MatrixPlan(local).scratch_bytes(DType::f32);
  return optim::factors_moments(model.settings) ? FactoredLayout(local).scratch_bytes(1) : 0;
}

inline void update_on_rank(comm::Communicator& world, const UpdatedModel& model, const model::Layout& layout,
                           Device device, Outcome& outcome) {
  const Context context(1, device);
  const comm::ScopedDevice computes_on(world.engine(), context);
  const LanePlan lanes =
      LanePlan(layout.dp, layout.dp).of_rank(layout.coordinates_of(world.rank()).dp, layout.dp);
  Groups groups(layout, world, {}, model.key_value_heads);
  groups.make_stage(layout);
  const LocalTable local(model.table, layout, layout.coordinates_of(world.rank()));
  std::vector<StateKind> kinds = optim::state_kinds(model.settings);
  if (model.ema > 0) kinds.emplace_back(kernels::average_kind);
  ModelStorage storage(device, local, model.precision, &lanes, groups, kinds);
  for (const LocalParam& param : local.params())
    storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local.spec(param), 7, piece, values, 1);
    });
  train::start_average(context, storage);
  train::WeightUpdate update(context, storage, model.settings, model.parameter_settings, model.ema);
  for (int step = 1; step <= num_steps; ++step) {
    complete_gradients(context, storage, lanes);
    set_gradients(context, storage, step);
    update.run({.settings = model.settings,
                .lr = lr,
                .step = step,
                .grad_scale = grad_scale,
                .rounding_key = {3, 4}},
               2 * lr);
  }
  const std::scoped_lock lock(outcome.mutex);
  outcome.scratch = std::max(outcome.scratch, context.scratch().peak_bytes());
  outcome.estimate = std::max(outcome.estimate, estimated_scratch(model, local));
  for (const LocalParam& param : local.params()) {
    if (!local.group(param.group).has_state) continue;
    const std::string& name = local.spec(param).name;
    if (param.owned_piece.numel() > 0) {
      put(context, outcome, name, param.owned_piece, param.view_in_shard(storage.group_masters(param.group)));
      if (model.precision.has_masters())
        put(context, outcome, "weights/" + name, param.owned_piece,
            param.view_in_shard(storage.group_weights(param.group)));
    }
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const Piece piece = state_piece(local, param, kinds[kind]);
      if (piece.numel() > 0)
        put(context, outcome, kinds[kind].name + "/" + name, piece, storage.param_state(param, kind));
    }
  }
  outcome.state_bytes += storage.bytes().optimizer;
}

inline void update_layout(const UpdatedModel& model, const model::Layout& layout, Outcome& outcome,
                          Device device = Device::host()) {
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    update_on_rank(world, model, layout, device, outcome);
    return 0;
  });
}

/// Returns the initial weights of a parameter.
inline std::vector<double> initial_weights(const model::ParamSpec& param) {
  std::vector<float> start(static_cast<std::size_t>(param.shape.numel()));
  model::initialise(param, 7, Piece::whole(param.shape),
                    Tensor(start.data(), DType::f32, param.shape, Device::host()), 1);
  return {start.begin(), start.end()};
}

}  // namespace dt_test
