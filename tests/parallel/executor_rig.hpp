#pragma once
// An executor that runs steps of one rank.

#include <cstdint>
#include <memory>
#include <vector>

#include "model/initialise.hpp"
#include "parallel/engine/executor.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "support/unit_runner.hpp"

namespace dt_test {

using namespace dt;
using namespace dt::parallel;

/// An executor over storage of its own, with initial weights.
struct Rig {
  Rig(const model::ModelSpec& spec_, std::int64_t micro_batches, std::int64_t lanes,
      Device device = Device::host())
      : spec(spec_),
        table(spec),
        context(1, device),
        plan(micro_batches, lanes),
        units(model::make_units(context.device(), spec, table, DType::f32)),
        storage(context.device(), local, Precision{}, &plan, alone, {}),
        executor(context, units, storage) {
    for (const LocalParam& param : local.params()) {
      storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
        model::initialise(local.spec(param), 7, piece, values, 1);
      });
    }
  }
  int num_units() const { return static_cast<int>(units.size()); }
  Tensor gradient(int param) {
    return local.param(param).view_in_shard(storage.group_gradient(local.param(param).group));
  }

  model::ModelSpec spec;
  model::ParameterTable table;
  LocalTable local{table, {}, {}};
  Groups alone;
  Context context;
  LanePlan plan;
  std::vector<std::unique_ptr<model::Unit>> units;
  ModelStorage storage;
  Executor executor;
};

inline StepHooks no_hooks() {
  return {.loss = {}, .control = [] {}, .step = [] {}};
}

inline std::vector<model::MicroBatch> split(test::Batch& batch) {
  std::vector<model::MicroBatch> list;
  for (std::int64_t s = 0; s < batch.sequences; ++s) list.push_back(batch.micro_batch(s, s + 1));
  return list;
}

}  // namespace dt_test
