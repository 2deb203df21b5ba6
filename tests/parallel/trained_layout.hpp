#pragma once
// Trains whole layouts, with ranks as threads, so that tests can compare layouts.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "base/numeric/exact_sum.hpp"
#include "base/numeric/integer.hpp"
#include "comm/threads/thread_group.hpp"
#include "kernels/elementwise.hpp"
#include "model/layers/ring_attention.hpp"
#include "parallel/engine/executor.hpp"
#include "parallel/engine/tensor_parallel_ops.hpp"
#include "parallel/grouped_spec.hpp"
#include "parallel/schedule/activation_peak.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/stages.hpp"
#include "parallel/schedule/validator.hpp"
#include "support/unit_runner.hpp"

namespace dt_test {

using namespace dt;
using namespace dt::parallel;
using model::PipelineScheduleKind;

inline constexpr int num_steps = 3;
inline constexpr Precision fp64{.compute = DType::f64, .gradient = DType::f64, .reduce = DType::f64};

struct Setting {
  model::Layout layout{};
  int micro_batches = 4;
  int layers = 6;
  bool tied = true;
  bool recompute = false;
  Precision precision{};
  std::int64_t lanes = 4;
  std::int64_t sequence = 6;
  model::SavedActivations saved_activations = model::SavedActivations::all;
  std::optional<model::ModelSpec> spec{};  // absent: grouped_spec
  double z_loss = 0;
};

inline int num_units(const Setting& s) {
  return s.layers + 2;
}

inline int most_micro_batches(const Setting& s) {
  return ceil_div(s.micro_batches, s.layout.dp);
}

/// Divides units evenly over virtual stages. The last one has the remainder, and the first one
/// `extra` units more.
inline model::Layout laid_out(model::Layout layout, int units, int extra = 0) {
  const int stages = layout.pp * layout.virtual_stages;
  std::vector<int> counts(static_cast<std::size_t>(stages), (units - extra) / stages);
  counts.front() += extra;
  counts.back() += (units - extra) % stages;
  layout.stages = stage_units_of(stages_from_counts(counts, units), schedule_of(layout, 1));
  return layout;
}

/// Every element of every parameter, the tied table as its other holders have it, and the losses.
struct Result {
  std::vector<std::vector<double>> params;
  struct End {  // a part of the tied table, as its other holder has it
    std::int64_t begin;
    std::vector<double> values;
  };
  std::vector<End> other_ends;
  std::vector<double> losses;                  // by step and micro-batch
  std::vector<ExactSum> auxiliary{num_steps};  // terms of auxiliary losses, by step

  explicit Result(const Setting& s, const model::ParameterTable& table)
      : losses(static_cast<std::size_t>(num_steps * s.micro_batches)) {
    for (const model::ParamSpec& param : table.params())
      params.emplace_back(static_cast<std::size_t>(param.shape.numel()));
  }
};

/// One rank's model, trained by plain gradient descent.
class Rank {
 public:
  Rank(const Setting& setting, const model::ParameterTable& table, const model::ModelSpec& spec,
       comm::Communicator& world)
      : setting_(setting),
        pipeline_(pipeline_of(setting.layout, num_units(setting), most_micro_batches(setting), setting.tied)),
        local_(table, setting.layout, setting.layout.coordinates_of(world.rank())),
        groups_(setting.layout, world, channels_of(pipeline_), spec.key_value_heads),
        plan_(LanePlan(setting.micro_batches, setting.lanes).of_rank(local_.place().dp, setting.layout.dp)),
        ops_(setting.layout, local_.place(), groups_),
        units_(model::make_units(context_.device(), spec, table, setting.precision.compute,
                                 setting.saved_activations, ops_, setting.z_loss)),
        storage_(context_.device(), local_, setting.precision, &plan_, groups_, {"m", "v"}),
        executor_(context_, units_, storage_, &ops_) {
    for (const LocalParam& param : local_.params()) {
      storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
        model::initialise(local_.spec(param), 7, piece, values, 1);
      });
    }
  }

  ActionList list() const {
    const StepShape shape{.num_units = num_units(setting_),
                          .first_micro_batch = static_cast<int>(plan_.first_micro_batch()),
                          .num_micro_batches = static_cast<int>(plan_.num_micro_batches()),
                          .max_micro_batches = most_micro_batches(setting_),
                          .recompute = setting_.recompute,
                          .zero = setting_.layout.zero};
    const std::vector<ActionList> lists = build_training_steps(shape, pipeline_);
    validate_training_steps(lists, std::span(&shape, 1), pipeline_);
    return lists[static_cast<std::size_t>(local_.place().pp)];
  }

  void step(std::span<const model::MicroBatch> micro_batches, int number, Result& result) {
    const StepHooks hooks{
        .loss =
            [&](int m, const Tensor& nll_R) {
              if (!local_.counts_loss()) return;
              const auto nll = nll_R.span<double>();
              const std::scoped_lock lock(losses_);
              double& loss = result.losses[static_cast<std::size_t>(number * setting_.micro_batches + m)];
              for (const double one : nll) loss += one;
            },
        .auxiliary =
            [&](int, int, const Tensor& auxiliary_AR) {
              if (!local_.counts_auxiliary_losses()) return;
              const std::scoped_lock lock(losses_);
              result.auxiliary[static_cast<std::size_t>(number)].add(auxiliary_AR.span<double>());
            },
        .control = [] {},
        .step = [&] { descend(); }};
    executor_.run(list(), micro_batches, 0, hooks);
  }

  void tell(Result& result, std::mutex& mutex) {
    const std::size_t bytes[]{sizeof(float)};
    const std::scoped_lock lock(mutex);
    for (const OwnedPiece& own : owned_pieces(local_, bytes)) {
      const LocalParam& param = local_.param(own.param);
      const std::vector<double> values = test::to_doubles(storage_.group_masters(param.group));
      for (const CopyRange& run : intersect(own.piece, Piece::whole(own.piece.global))) {
        const auto first = values.begin() + param.owned_offset + own.piece.begin - param.owned_piece.begin;
        std::copy_n(first + run.source, run.count,
                    result.params[static_cast<std::size_t>(param.param)].begin() + run.target);
      }
    }
    const int tied = local_.tied_group();
    if (tied < 0 || local_.group(tied).has_state) return;
    result.other_ends.push_back(
        {local_.group(tied).owned_range.begin, test::to_doubles(storage_.group_weights(tied))});
  }

  const Executor& executor() const { return executor_; }
  const LocalTable& local() const { return local_; }
  const ModelStorage& storage() const { return storage_; }
  ModelStorage& storage() { return storage_; }
  std::size_t scratch_bytes() const { return context_.scratch().peak_bytes(); }
  const std::vector<std::unique_ptr<model::Unit>>& units() const { return units_; }

 private:
  void descend() {
    for (int group = 0; group < storage_.num_groups(); ++group) {
      if (!local_.group(group).has_state) continue;
      const std::vector<double> gradient = test::to_doubles(storage_.group_gradient(group));
      std::vector<double> weights = test::to_doubles(storage_.group_masters(group));
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.05 * gradient[i];
      test::from_doubles(weights, storage_.group_masters(group));
      if (storage_.precision().has_masters())
        kernels::cast(context_, storage_.group_masters(group), storage_.group_weights(group));
    }
    storage_.weights().mark_updated();
  }

  static inline std::mutex losses_;  // ranks that divide sequences each add a part of a loss
  const Setting& setting_;
  Pipeline pipeline_;
  LocalTable local_;
  Groups groups_;
  Context context_{1, Device::host()};
  LanePlan plan_;
  CommTensorParallelOps ops_;
  std::vector<std::unique_ptr<model::Unit>> units_;
  ModelStorage storage_;
  Executor executor_;
};

inline model::ModelSpec spec_of(const Setting& s) {
  return s.spec.value_or(grouped_spec(s.layers, s.tied));
}

/// Returns a context-parallel rank's part of each sequence: two chunks, as model::Zigzag defines.
inline test::Batch part_of_sequences(const test::Batch& whole, const model::Layout& layout, int rank) {
  const model::Zigzag zigzag{whole.length / (model::Zigzag::num_chunks * layout.cp),
                             layout.coordinates_of(rank).cp, layout.cp};
  test::Batch part(whole.sequences, whole.length / layout.cp, {}, {});
  part.positions.clear();
  for (std::int64_t s = 0; s < whole.sequences; ++s) {
    for (int chunk = 0; chunk < model::Zigzag::num_chunks; ++chunk) {
      const std::int64_t begin = s * whole.length + zigzag.position(chunk);
      const auto add = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to) {
        to.insert(to.end(), from.begin() + begin, from.begin() + begin + zigzag.length);
      };
      add(whole.tokens, part.tokens);
      add(whole.labels, part.labels);
      add(whole.positions, part.positions);
    }
  }
  return part;
}

/// Trains for all steps and returns the result. Calls `look` with each rank at the end.
template <class Look>
Result train(const Setting& setting, const Look& look) {
  const model::ModelSpec spec = spec_of(setting);
  const model::ParameterTable table(spec);
  Result result(setting, table);
  std::mutex mutex;
  const int failed = comm::run_threads(setting.layout.size(), [&](comm::Communicator& world) {
    world.engine().set_timeout(20);
    Rank rank(setting, table, spec, world);
    auto batch = test::Batch::arbitrary(spec, setting.micro_batches, setting.sequence);
    const std::int64_t targets = batch.targets();
    std::vector<model::MicroBatch> micro_batches;
    if (setting.layout.cp > 1) batch = part_of_sequences(batch, setting.layout, world.rank());
    for (std::int64_t s = 0; s < batch.sequences; ++s) {
      micro_batches.push_back(batch.micro_batch(s, s + 1));
      micro_batches.back().loss_scale = 1.0 / static_cast<double>(targets);
      micro_batches.back().auxiliary_scale =
          1.0 / static_cast<double>(setting.micro_batches * setting.sequence);
    }
    for (int step = 0; step < num_steps; ++step) rank.step(micro_batches, step, result);
    rank.tell(result, mutex);
    look(rank);
    return 0;
  });
  CHECK(failed == 0);
  return result;
}

inline Result train(const Setting& setting) {
  return train(setting, [](Rank&) {});
}

/// Returns the setting with layers divided among ranks.
inline Setting cut(Setting setting, int tp, bool sequence_parallel) {
  setting.layout.tp = tp;
  setting.layout.sequence_parallel = sequence_parallel;
  return setting;
}

inline double most_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    if (!(difference <= most)) most = difference;
  }
  return most;
}

inline void check_close(const Result& expected, const Result& result, double bound) {
  CHECK(most_difference(expected.losses, result.losses) <= bound);
  for (std::size_t p = 0; p < expected.params.size(); ++p) {
    INFO("parameter " << p);
    CHECK(most_difference(expected.params[p], result.params[p]) <= bound);
  }
}

inline void check_same(const Result& a, const Result& b) {
  for (std::size_t p = 0; p < a.params.size(); ++p) {
    INFO("parameter " << p);
    CHECK(std::memcmp(a.params[p].data(), b.params[p].data(), a.params[p].size() * sizeof(double)) == 0);
  }
  CHECK(a.losses == b.losses);
}

/// Checks that the tied table's other holders have the owner's values, rounded to the compute
/// dtype.
inline void check_ends(const Result& result, DType compute) {
  const std::vector<double>& table = result.params[0];
  const test::OwnedTensor rounded(compute, {static_cast<std::int64_t>(table.size())});
  test::from_doubles(table, rounded.tensor);
  const std::vector<double> expected = test::to_doubles(rounded.tensor);
  for (const Result::End& end : result.other_ends) {
    const auto begin = static_cast<std::size_t>(end.begin);
    const std::size_t count = std::min(end.values.size(), expected.size() - begin);  // without padding
    CHECK(std::memcmp(end.values.data(), expected.data() + begin, count * sizeof(double)) == 0);
  }
}

inline Setting alone(Setting setting) {
  setting.layout = {};
  setting.recompute = false;
  return setting;
}

/// Checks that the scratch memory is what the units estimate, less some workspace that kernels of
/// lower precision than fp64 need.
inline void check_scratch(const Setting& setting, const Rank& rank, double least = 0.85) {
  std::size_t told = 0;
  for (const int unit : rank.local().units()) {
    const model::Unit& held = *rank.units()[static_cast<std::size_t>(unit)];
    told = std::max(told, held.scratch_bytes(Device::host(), 1, setting.sequence / setting.layout.cp));
  }
  const auto most = static_cast<double>(rank.scratch_bytes());
  if (most > static_cast<double>(told) || most < least * static_cast<double>(told))
    throw Error(ErrorKind::internal,
                fmt::format("{}: units tell {} bytes of scratch memory, running takes {}",
                            setting.layout.to_string(), told, most));
}

/// Checks that a rank's activations take the bytes that the walk of its list finds.
inline void check_held(const Setting& setting, const Rank& rank) {
  const std::int64_t length = setting.sequence / setting.layout.cp;
  std::vector<UnitBytes> bytes;
  for (const auto& unit : rank.units()) {
    bytes.push_back({.output = unit->output_shape(1, length).numel() *
                               static_cast<std::int64_t>(dtype_bytes(unit->output_dtype())),
                     .saved = static_cast<std::int64_t>(unit->saved_bytes(1, length)),
                     .backward_handoff =
                         static_cast<std::int64_t>(unit->backward_handoff_bytes(Device::host(), 1, length))});
  }
  const auto held = static_cast<double>(activation_peak_bytes(rank.list(), bytes));
  const auto pool = static_cast<double>(rank.executor().activation_bytes());
  if (held > pool || held < 0.93 * pool)  // buffers of one kind do not serve for another
    throw Error(ErrorKind::internal, fmt::format("{}: the walk finds {} bytes, running takes {}",
                                                 setting.layout.to_string(), held, pool));
}

/// Checks that a rank's storage holds what its estimate says. Whole weights and gradients beside it
/// may take no more than estimated.
inline void check_stored(const Setting& setting, Rank& rank) {
  const LanePlan plan =
      LanePlan(setting.micro_batches, setting.lanes).of_rank(rank.local().place().dp, setting.layout.dp);
  const std::vector<StateKind> two_kinds{"m", "v"};
  const StorageBytes told = ModelStorage::estimate(rank.local(), setting.precision, &plan, two_kinds);
  const StorageBytes of_weights = ModelStorage::estimate(rank.local(), setting.precision, nullptr, {});
  // A whole gradient's buffer may also serve for a gradient that travels in 16 bits.
  const std::size_t slack = setting.precision.wire() == setting.precision.gradient ? 0 : told.gathered / 3;
  const StorageBytes held = rank.storage().bytes();
  if (held.weights != told.weights || held.gradients != told.gradients || held.optimizer != told.optimizer ||
      held.checkpoint != told.checkpoint || held.gathered > told.gathered + slack ||
      rank.storage().weights().peak_gathered_bytes() > of_weights.gathered)
    throw Error(
        ErrorKind::internal,
        fmt::format("{}, stage {}: weights, gradients, optimizer, checkpoint, gathered {} {} {} {} {} "
                    "are told, {} {} {} {} {} held",
                    setting.layout.to_string(), rank.local().place().pp, told.weights, told.gradients,
                    told.optimizer, told.checkpoint, told.gathered, held.weights, held.gradients,
                    held.optimizer, held.checkpoint, held.gathered));
}

}  // namespace dt_test
