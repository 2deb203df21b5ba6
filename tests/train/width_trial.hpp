#pragma once
// Short training runs of one small model in several widths.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/threads/thread_group.hpp"
#include "data/read/mixture.hpp"
#include "data/test_dataset.hpp"
#include "model/initialise.hpp"
#include "plan/action_lists.hpp"
#include "plan/planner.hpp"
#include "support/unit_runner.hpp"
#include "train/start/start.hpp"
#include "train/step/stepper.hpp"

namespace dt_test {

/// Returns a dataset of a few thousand bytes of text with rules that a model can learn.
inline const dt::data::Mixture& width_trial_data() {
  static const Folder folder;
  static const dt::data::Mixture data = [] {
    std::vector<std::string> documents;
    for (int i = 0; i < 200; ++i)
      documents.push_back(fmt::format("{} times {} is {}.", i % 20, i % 7, i % 20 * (i % 7)));
    make_documents(folder, documents);
    return dt::data::Mixture((folder / "out").string());
  }();
  return data;
}

/// Returns a model that has 4 heads of 8 features at width 32. A wider model has more or larger heads.
inline dt::model::ModelSpec widened(const char* preset, std::int64_t width, bool larger_heads = false) {
  dt::model::ModelSpec spec = dt::model::load_model_spec(preset);
  spec.vocabulary = 260;
  spec.layers = 2;
  spec.hidden = width;
  spec.head_dim = larger_heads ? width / 4 : 8;
  spec.query_heads = spec.key_value_heads = width / spec.head_dim;
  spec.mlp_hidden = 2 * width;
  spec.max_positions = 16;
  spec.init_std = 1 / std::sqrt(32.0);  // at width 32, products keep the size of a row
  return spec;
}

struct WidthTrial {
  dt::model::ModelSpec spec;
  dt::plan::Settings settings = [] {
    dt::plan::Settings s;
    s.sequence_length = 16;
    s.global_batch = 4;
    s.micro_batch = 2;
    s.threads = 1;
    s.clip_norm = 0;
    s.learning_rate.kind = dt::optim::LearningRateScheduleKind::constant;
    s.learning_rate.warmup_steps = 0;
    s.optimizer.weight_decay = 0;
    return s;
  }();
  /// Changes the initial weights, if it is present.
  std::function<void(const dt::model::ParamSpec& param, const dt::Tensor& values)> change{};

  struct Result {
    std::vector<double> changes;               // mean |change| of each unit's output; the head's are logits
    std::vector<std::vector<double>> weights;  // by parameter
    double loss = 0;                           // the last step's
  };

  Result train(int steps) const {
    dt::plan::Settings own = settings;
    own.duration.steps = steps;
    Result result;
    dt::comm::run_alone([&](dt::comm::Communicator& world) {
      const dt::plan::Launch launch{.num_ranks = 1, .ranks_per_node = 1};
      const dt::plan::Plan plan = dt::plan::Planner(own, spec, &width_trial_data(), launch).plan();
      const auto groups = dt::plan::make_groups(plan, world);
      dt::train::ModelRuntime runtime(plan, dt::train::ModelRuntime::Purpose::training, *groups);
      dt::train::load_initial_weights(runtime, plan);
      if (change) change_weights(runtime);
      dt::checkpoint::TrainingState state = dt::train::initial_state(plan, width_trial_data());
      const auto before = outputs(runtime);
      dt::train::Stepper stepper(plan, runtime, width_trial_data(), state, world);
      for (dt::train::StepTimes times; state.step < plan.total_steps;)
        result.loss = stepper.step({}, times).loss;
      const auto after = outputs(runtime);
      for (std::size_t unit = 0; unit < before.size(); ++unit)
        result.changes.push_back(mean_difference(before[unit], after[unit]));
      for_each_weight(runtime, [&](const dt::model::ParamSpec&, const dt::Tensor& weight) {
        result.weights.push_back(dt::test::to_doubles(weight));
      });
      return 0;
    });
    return result;
  }

 private:
  static double mean_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum / static_cast<double>(a.size());
  }

  /// Calls a function with each parameter, in the table's order.
  template <class Function>
  static void for_each_weight(dt::train::ModelRuntime& runtime, const Function& function) {
    const dt::parallel::LocalTable& local = runtime.local();
    std::vector<const dt::parallel::LocalParam*> params;
    for (const dt::parallel::LocalParam& param : local.params()) params.push_back(&param);
    std::ranges::sort(params, {}, &dt::parallel::LocalParam::param);
    for (const dt::parallel::LocalParam* param : params)
      function(local.spec(*param), param->view_in_shard(runtime.storage().group_weights(param->group)));
  }

  void change_weights(dt::train::ModelRuntime& runtime) const {
    for (const dt::parallel::LocalParam& param : runtime.local().params()) {
      runtime.storage().set_weights(runtime.context(), param,
                                    [&](const dt::Piece& piece, const dt::Tensor& values) {
                                      const dt::model::ParamSpec& own = runtime.local().spec(param);
                                      dt::model::initialise(own, 0, piece, values, 1);
                                      change(own, values);
                                    });
    }
  }

  /// Returns two sequences like those of training, so that all embeddings have changed.
  static dt::test::Batch known_tokens() {
    const std::string text = "4 times 3 is 12.7 times 1 is 7.18";
    std::vector<std::int32_t> tokens(text.begin(), text.begin() + 32);
    return {2, 16, tokens, tokens};
  }

  /// Returns the outputs of the units for some sequences. The head's are logits.
  std::vector<std::vector<double>> outputs(dt::train::ModelRuntime& runtime) const {
    const dt::DType dtype = settings.precision;
    const dt::test::Decoder decoder(spec, dtype);
    int index = 0;
    for_each_weight(runtime, [&](const dt::model::ParamSpec&, const dt::Tensor& weight) {
      dt::test::from_doubles(dt::test::to_doubles(weight), decoder.weight(index++));
    });
    dt::test::Batch batch = known_tokens();
    dt::test::Flight flight(decoder, batch.whole());
    const dt::Tensor logits = flight.logits(runtime.context());
    std::vector<std::vector<double>> all;
    for (std::size_t unit = 0; unit + 1 < flight.num_units(); ++unit)
      all.push_back(dt::test::to_doubles(flight.output(unit)));
    all.push_back(dt::test::to_doubles(logits));
    return all;
  }
};

}  // namespace dt_test
