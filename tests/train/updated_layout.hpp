#pragma once
// Updates the weights of whole layouts, with ranks as threads, from gradients that do not depend on the
// layout.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/threads/thread_group.hpp"
#include "kernels/elementwise.hpp"
#include "model/initialise.hpp"
#include "optim/muon.hpp"
#include "parallel/state/factored_layout.hpp"
#include "parallel/state/matrix_plan.hpp"
#include "tensor/host_tensor.hpp"
#include "train/step/weight_update.hpp"

namespace dt_test {

using namespace dt;
using namespace dt::parallel;

inline constexpr int num_steps = 2;
inline constexpr double lr = 0.02, grad_scale = 0.5;
inline constexpr float unset = -123456;

/// A model and its optimizer.
struct UpdatedModel {
  model::ParameterTable table;
  std::int64_t key_value_heads;
  optim::OptimizerSettings settings;
  plan::ParameterSettings parameter_settings = {};
};

/// Every element of every parameter and kind of state after the steps, by name.
using State = std::map<std::string, std::vector<float>>;

struct Outcome {
  State state;
  std::size_t state_bytes = 0;            // sum over kinds and ranks
  std::size_t scratch = 0, estimate = 0;  // the largest of any rank
  bool replicas_differ = false;           // ranks have different bits of an element
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
  std::vector<float>& whole = outcome.state[name];
  whole.resize(static_cast<std::size_t>(piece.global.numel()), unset);
  for_elements_of(piece, [&](std::int64_t here, std::int64_t element) {
    float& value = whole[static_cast<std::size_t>(element)];
    const float own = mirror.tensor().data<float>()[here];
    if (value != unset && std::memcmp(&value, &own, sizeof(float)) != 0) outcome.replicas_differ = true;
    value = own;
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

inline void update_on_rank(comm::Communicator& world, const UpdatedModel& model, const model::Layout& layout,
                           Device device, Outcome& outcome) {
  const Context context(1, device);
  const comm::ScopedDevice computes_on(world.engine(), context);
  const LanePlan lanes =
      LanePlan(layout.dp, layout.dp).of_rank(layout.coordinates_of(world.rank()).dp, layout.dp);
  Groups groups(layout, world, {}, model.key_value_heads);
  groups.make_stage(layout);
  const LocalTable local(model.table, layout, layout.coordinates_of(world.rank()));
  ModelStorage storage(device, local, Precision{}, &lanes, groups, optim::state_kinds(model.settings));
  for (const LocalParam& param : local.params())
    storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local.spec(param), 7, piece, values, 1);
    });
  train::WeightUpdate update(context, storage, model.settings, model.parameter_settings);
  for (int step = 1; step <= num_steps; ++step) {
    complete_gradients(context, storage, lanes);
    for (const LocalParam& param : local.params()) {
      if (!local.group(param.group).has_state) continue;
      if (param.owned_piece.numel() == 0) continue;
      std::vector<float> gradient(static_cast<std::size_t>(param.owned_piece.numel()));
      for_elements_of(param.owned_piece, [&](std::int64_t here, std::int64_t element) {
        gradient[static_cast<std::size_t>(here)] = gradient_of(param.param, element, step);
      });
      kernels::copy(context, host_tensor(gradient),
                    storage.group_gradient(param.group).flat(param.owned_offset, std::ssize(gradient)));
      context.synchronize();
    }
    update.run({.settings = model.settings, .lr = lr, .step = step, .grad_scale = grad_scale}, 2 * lr);
  }
  const std::scoped_lock lock(outcome.mutex);
  outcome.scratch = std::max(outcome.scratch, context.scratch().peak_bytes());
  outcome.estimate = std::max(outcome.estimate, optim::updates_matrices(model.settings)
                                                    ? MatrixPlan(local).scratch_bytes(DType::f32)
                                                    : FactoredLayout(local).scratch_bytes());
  for (const LocalParam& param : local.params()) {
    if (!local.group(param.group).has_state) continue;
    const std::string& name = local.spec(param).name;
    if (param.owned_piece.numel() > 0)
      put(context, outcome, name, param.owned_piece,
          storage.group_masters(param.group).flat(param.owned_offset, param.owned_piece.numel()));
    for (std::size_t kind = 0; kind < storage.state_kinds().size(); ++kind) {
      const Piece piece = state_piece(local, param, storage.state_kinds()[kind]);
      if (piece.numel() > 0)
        put(context, outcome, storage.state_kinds()[kind].name + "/" + name, piece,
            storage.param_state(param, kind));
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

inline bool same_bits(const State& a, const State& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != values.size()) return false;
    if (std::memcmp(values.data(), other->second.data(), values.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

/// Returns the initial weights of a parameter.
inline std::vector<double> initial_weights(const model::ParamSpec& param) {
  std::vector<float> start(static_cast<std::size_t>(param.shape.numel()));
  model::initialise(param, 7, Piece::whole(param.shape),
                    Tensor(start.data(), DType::f32, param.shape, Device::host()), 1);
  return {start.begin(), start.end()};
}

}  // namespace dt_test
