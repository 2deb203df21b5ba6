#pragma once
// Computes the gradients of one step whose micro-batches are divided among ranks, with ranks as
// threads.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/threads/thread_group.hpp"
#include "kernels/elementwise.hpp"
#include "model/hf/hf_config.hpp"
#include "model/model_spec.hpp"
#include "parallel/one_rank.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/model_storage.hpp"
#include "tensor/host_tensor.hpp"

namespace dt_test::divided {

using namespace dt;
using namespace dt::parallel;

inline model::ModelSpec tied_spec() {
  return model::parse_hf_config(
      R"({"model_type": "llama", "vocab_size": 613, "hidden_size": 24, "intermediate_size": 120, "num_hidden_layers": 2,
          "num_attention_heads": 2, "max_position_embeddings": 16, "tie_word_embeddings": true})",
      "test");
}

/// Returns a gradient that depends on unit, micro-batch and element. The sum of such gradients
/// depends on the order.
inline float term(int unit, std::int64_t micro_batch, std::int64_t element) {
  return 1.0F / static_cast<float>(1 + (unit * 31 + micro_batch * 17 + element * 7) % 101);
}

/// A rank's gradients of all groups after a step. `mine` marks the places of the rank's own part.
struct Result {
  std::vector<float> gradient;
  std::vector<bool> mine;
};

/// Adds a micro-batch's terms to a unit's gradients. `kept` holds buffers that the context still
/// reads.
inline void add_terms(ModelStorage& storage, const Context& context, int unit, std::int64_t m,
                      std::deque<Buffer>& kept) {
  for (const Tensor& gradient : storage.gradients().unit_gradients(context, unit, m)) {
    const Tensor terms(kept.emplace_back(Device::host(), gradient.bytes()), DType::f32, gradient.shape());
    std::int64_t element = 0;
    for (float& value : terms.span<float>()) value = term(unit, m, element++);
    const Tensor there(kept.emplace_back(context.device(), gradient.bytes()), DType::f32, gradient.shape());
    kernels::copy(context, terms, there);
    kernels::add(context, gradient, there, gradient);
  }
  storage.gradients().finish_micro_batch(context, unit, m);
}

/// Returns the elements of a tensor of the host or of a device.
inline std::vector<float> numbers(const Context& context, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
  kernels::copy(context, tensor.flat(0, tensor.numel()), host_tensor(values));
  if (context.stream() != nullptr) accelerator().synchronize(context.stream());
  return values;
}

inline Result result_of(const Context& context, const ModelStorage& storage) {
  Result result;
  for (int group = 0; group < storage.num_groups(); ++group) {
    const auto whole = static_cast<std::size_t>(storage.local().group(group).numel);
    const Range own = storage.local().group(group).owned_range;
    const std::vector<float> part = numbers(context, storage.group_gradient(group));
    const std::size_t begin = result.gradient.size() + static_cast<std::size_t>(own.begin);
    result.gradient.resize(result.gradient.size() + whole);
    result.mine.resize(result.gradient.size());
    std::copy(part.begin(), part.end(), result.gradient.begin() + static_cast<std::ptrdiff_t>(begin));
    std::fill_n(result.mine.begin() + static_cast<std::ptrdiff_t>(begin), part.size(), true);
  }
  return result;
}

struct Setting {
  int ranks = 1;
  std::int64_t micro_batches = 1, lanes = 1;
  int stage = 0;
  int group = 0;  // number of ranks that divide the state; 0: all
  Device device = Device::host();
  /// For ranks that communicate through streams: gives the world its streams. Each rank then has a
  /// device of its own.
  std::function<void(comm::Communicator& world, Device device)> set_streams{};
  Precision precision{};
  std::function<std::string(int rank)> host_of{};
};

inline std::vector<Result> results(const Setting& setting) {
  std::vector<Result> all(static_cast<std::size_t>(setting.ranks));
  const model::ParameterTable table(tied_spec());
  const auto num_units = static_cast<int>(table.units().size());
  const auto body = [&](comm::Communicator& world) {
    const Context context(1, setting.set_streams ? Device::gpu(world.rank()) : setting.device);
    const comm::ScopedDevice computes_on(world.engine(), context);
    if (setting.set_streams) setting.set_streams(world, context.device());
    std::deque<Buffer> kept;
    const LanePlan plan = LanePlan(setting.micro_batches, setting.lanes).of_rank(world.rank(), setting.ranks);
    const model::Layout layout{.dp = setting.ranks, .zero = setting.stage, .zero_group = setting.group};
    const Groups groups(layout, world);
    const LocalTable local(table, layout, layout.coordinates_of(world.rank()));
    ModelStorage storage(context.device(), local, setting.precision, &plan, groups, {});
    const StepShape shape{
        .num_units = num_units,
        .first_micro_batch = static_cast<int>(plan.first_micro_batch()),
        .num_micro_batches = static_cast<int>(plan.num_micro_batches()),
        .max_micro_batches = static_cast<int>(ceil_div(setting.micro_batches, setting.ranks)),
        .zero = setting.stage};
    storage.gradients().start_step(context);
    for (const Action& action : build_training_step(shape)) {
      if (action.kind == ActionKind::backward_weight)
        add_terms(storage, context, action.unit, action.micro_batch, kept);
      if (action.kind == ActionKind::reduce) storage.gradients().reduce(context, action.unit);
      groups.poll();
    }
    storage.gradients().complete(context);
    all[static_cast<std::size_t>(world.rank())] = result_of(context, storage);
    return 0;
  };
  comm::run_threads(setting.ranks, body, setting.host_of);
  return all;
}

/// Puts the ranks' parts together. Parts that several ranks hold must be equal.
inline std::vector<float> gradient(const Setting& setting) {
  std::vector<float> whole;
  std::vector<bool> known;
  for (const Result& result : results(setting)) {
    whole.resize(result.gradient.size());
    known.resize(whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (!result.mine[i]) continue;
      if (known[i]) REQUIRE(std::memcmp(&whole[i], &result.gradient[i], sizeof(float)) == 0);
      whole[i] = result.gradient[i];
      known[i] = true;
    }
  }
  CHECK(std::find(known.begin(), known.end(), false) == known.end());
  return whole;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace dt_test::divided
