#pragma once
// Whole steps of training of a small model, with ranks as threads.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/threads/thread_group.hpp"
#include "data/test_dataset.hpp"
#include "kernels/elementwise.hpp"
#include "model/initialise.hpp"
#include "parallel/grouped_spec.hpp"
#include "plan/action_lists.hpp"
#include "plan/planner.hpp"
#include "support/toy_feed_forward.hpp"
#include "tensor/host_tensor.hpp"
#include "train/start/start.hpp"
#include "train/step/stepper.hpp"

namespace dt_test {

using namespace dt;
using namespace dt::train;

using Parameters = std::vector<std::vector<double>>;
inline constexpr double learning_rate = 0.5;

/// Makes a dataset of a few hundred tokens, of which only some are targets.
inline std::string make_dataset(const Folder& folder) {
  std::string lines;
  for (int i = 0; i < 80; ++i)
    lines += fmt::format("{{\"messages\": [{{\"role\": \"{}\", \"content\": \"{:05}\"}}]}}\n",
                         i % 3 == 0 ? "user" : "bot", i * i * i % 99991);
  put(folder / "chats.jsonl", lines);
  data::MakeOptions options = plain_options({folder / "chats.jsonl"});
  options.lines.turns = data::TurnFormat{"", "", {"bot"}};
  make(folder / "out", options);
  return (folder / "out").string();
}

inline const data::Mixture& mixture() {
  static const Folder folder;
  static const data::Mixture of_folder(make_dataset(folder));
  return of_folder;
}

/// Training of four layers, two of which have the kind, with two micro-batches a step.
struct Job {
  explicit Job(const model::FeedForwardKind& kind = test::toy_kind()) : Job(kind, kind) {}
  Job(const model::FeedForwardKind& first, const model::FeedForwardKind& second) {
    const model::FeedForwardKind* const mlp = &model::swiglu_mlp();
    spec.feed_forward =
        model::PerLayer<const model::FeedForwardKind*>(std::vector{mlp, &first, &second, mlp});
    spec.vocabulary = 260;
    spec.mlp_hidden = 2 * spec.hidden;
    spec.init_std = 0.3;
    settings.sequence_length = 8;
    settings.global_batch = 4;
    settings.micro_batch = 2;
    settings.grad_lanes = 2;
    settings.duration.steps = 2;
    settings.precision = DType::f64;
    settings.optimizer.kind = optim::OptimizerKind::sgd;
    settings.optimizer.weight_decay = settings.clip_norm = 0;
    settings.learning_rate.kind = optim::LearningRateScheduleKind::constant;
    settings.learning_rate.peak = learning_rate;
    settings.logging.peak_flops = 1e9;  // avoids a measurement
  }

  Start start(comm::Communicator& world) const {
    Start start;
    const plan::Launch launch{
        .rank = world.rank(), .num_ranks = world.size(), .ranks_per_node = world.size()};
    start.plan = plan::Planner(settings, spec, &mixture(), launch).plan();
    start.plan.loss_scale = loss_scale;
    start.groups = plan::make_groups(start.plan, world);
    start.runtime =
        std::make_unique<ModelRuntime>(start.plan, ModelRuntime::Purpose::training, *start.groups);
    const parallel::LocalTable& local = start.runtime->local();
    for (const parallel::LocalParam& param : local.params()) {
      const auto fill = [&](const Piece& piece, const Tensor& values) {
        model::initialise(local.spec(param), start.plan.seed, piece, values, 1);
        if (change) change(local.spec(param).name, values.span<double>());
      };
      start.runtime->storage().set_weights(start.runtime->context(), param, fill);
    }
    start.state = initial_state(start.plan, mixture());
    return start;
  }

  plan::Settings settings;
  model::ModelSpec spec = grouped_spec(4, false);
  int num_ranks = 1;
  std::optional<optim::LossScaleSettings> loss_scale{};
  /// Changes a rank's initial weights.
  std::function<void(const std::string& name, std::span<double> values)> change{};
};

/// Copies the masters that a rank holds into the whole parameters.
inline void copy_weights(const Start& start, Parameters& parameters) {
  const parallel::LocalTable& local = start.runtime->local();
  const Context& context = start.runtime->context();
  parameters.resize(local.table().params().size());
  for (const parallel::LocalParam& param : local.params()) {
    std::vector<double>& whole = parameters[static_cast<std::size_t>(param.param)];
    whole.resize(static_cast<std::size_t>(param.piece.global.numel()));
    if (param.owned_piece.numel() == 0 || !local.group(param.group).has_state) continue;
    std::vector<double> own(static_cast<std::size_t>(param.owned_piece.numel()));
    const Tensor masters = start.runtime->storage().group_masters(param.group);
    kernels::cast(context, masters.flat(param.owned_offset, param.owned_piece.numel()), host_tensor(own));
    for (const CopyRange& range : intersect(param.owned_piece, Piece::whole(param.piece.global)))
      std::copy_n(own.begin() + range.source, range.count, whole.begin() + range.target);
  }
}

inline double largest_difference(const Parameters& a, const Parameters& b) {
  double most = 0;
  for (std::size_t p = 0; p < a.size(); ++p) {
    for (std::size_t i = 0; i < a[p].size(); ++i) {
      const double difference = std::abs(a[p][i] - b.at(p).at(i));
      if (!(difference <= most)) most = difference;  // true for NaN too
    }
  }
  return most;
}

struct Steps {
  std::vector<Decision> decisions;  // each rank's, in the order of steps
  Parameters before, after;
  checkpoint::TrainingState state;
};

/// Makes all steps of a job, or those to the first without an update.
inline Steps make_steps(const Job& job) {
  Steps result;
  std::mutex mutex;
  mixture();
  comm::run_threads(job.num_ranks, [&](comm::Communicator& world) {
    world.engine().set_timeout(20);
    Start start = job.start(world);
    Stepper stepper(start.plan, *start.runtime, mixture(), start.state, world);
    std::vector<Decision> own;
    Parameters before;
    copy_weights(start, before);
    for (StepTimes times; start.state.step < start.plan.total_steps;) {
      own.push_back(stepper.step({}, times));
      if (!own.back().finite) break;
    }
    const std::scoped_lock lock(mutex);
    result.decisions.insert(result.decisions.end(), own.begin(), own.end());
    result.before = before;
    copy_weights(start, result.after);
    result.state = start.state;
    return 0;
  });
  return result;
}

}  // namespace dt_test
