#include "train/start/start.hpp"

#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/exchange.hpp"
#include "convert/weight_source.hpp"
#include "plan/precision.hpp"
#include "train/start/search.hpp"
#include "train/start/state_change.hpp"
#include "train/step/weight_average.hpp"

namespace dt::train {

namespace {

Start start_from_scratch(const StartRequest& origin) {
  Start start;
  comm::run_collectively(origin.ranks.world, [&] { start.plan = origin.planner.fitting_plan(); });
  start.plan.arithmetic = plan::choose_arithmetic(start.plan, nullptr, origin.ranks);
  origin.make_runtime(start);
  std::string remark;
  comm::run_collectively(origin.ranks.world, [&] {
    remark = load_initial_weights(*start.runtime, start.plan);
    start.state = initial_state(start.plan, origin.dataset);
  });
  if (!remark.empty()) origin.ranks.console.warn("{}", remark);
  return start;
}

}  // namespace

model::ModelSpec choose_spec(const plan::ResumeRequest& request, const std::vector<Candidate>& candidates) {
  if (request.model) {
    model::ModelSpec spec = model::load_model_spec(*request.model);
    if (request.init_from && candidates.empty()) {
      const model::SpecialTokens special = convert::open_weights(*request.init_from)->spec().special;
      if (!special.eos.empty()) spec.special = special;
    }
    return spec;
  }
  for (const Candidate& candidate : candidates) {
    try {
      if (!candidate.local.empty()) {
        const std::string header = run::parse_local_checkpoint(candidate.local).header_text;
        return checkpoint::parse_manifest(header, candidate.path.string()).model;
      }
      return checkpoint::load_manifest(candidate.path).model;
    } catch (const Error& error) {
      if (candidate.required || error.kind() != ErrorKind::input) throw;
    }
  }
  if (request.init_from) return convert::open_weights(*request.init_from)->spec();
  throw Error(ErrorKind::usage, "--model is missing",
              fmt::format("give a config.json or one of: {}", fmt::join(model::preset_names(), ", ")));
}

void check_same_spec(const model::ModelSpec& asked, const convert::WeightSource& found,
                     const fs::path& weights) {
  if (model::same_computation(asked, found.spec())) return;
  const std::string remark = found.remark();
  throw Error(ErrorKind::input,
              fmt::format("--model differs from the model in {}{}", weights.string(),
                          remark.empty() ? "" : fmt::format(" ({})", remark)),
              "omit --model to use that model");
}

model::SpecialTokens training_special_tokens(const model::SpecialTokens& before,
                                             const data::Mixture& dataset) {
  model::SpecialTokens special = before;
  bool is_first = true;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const std::optional<std::int64_t> eos = dataset.source(i).eos();
    if (!eos) continue;
    special = model::with_end_of_text(std::move(special), *eos, is_first);
    is_first = false;
  }
  return special;
}

void warn_changed_end_of_text(const model::SpecialTokens& before, const model::SpecialTokens& after,
                              Console& console) {
  if (before.eos.empty() || before.eos == after.eos) return;
  console.warn("the model's eos_token_id was {} and is now {}, the token that ends the data's documents{}",
               model::ends_text(before), model::ends_text(after), after.eos.size() > 1 ? " among them" : "");
}

Start prepare_start(const plan::Settings& settings, const data::Mixture& dataset,
                    const std::vector<Candidate>& candidates, const run::Promotion& promotion,
                    const plan::Launch& launch, const comm::Ranks& ranks) {
  std::optional<model::ModelSpec> spec;
  comm::run_collectively(ranks.world, [&] { spec = choose_spec(settings.resume, candidates); });
  const model::SpecialTokens given = spec->special;
  spec->special = training_special_tokens(given, dataset);
  const plan::Planner planner(settings, *spec, &dataset, launch);
  const StartRequest origin{planner, dataset, promotion, ranks};
  CheckpointSearch search(origin);
  for (const Candidate& candidate : candidates) {
    if (auto start = search.start_from(candidate)) return std::move(*start);
  }
  if (!candidates.empty()) search.fail();
  Start start = start_from_scratch(origin);
  // A preset's ids are those of another tokenizer, and the user did not choose them.
  if (!model::is_preset(start.plan.resume.model.value_or("")) || start.plan.resume.init_from)
    warn_changed_end_of_text(given, spec->special, ranks.console);
  return start;
}

std::string load_initial_weights(ModelRuntime& runtime, const plan::Plan& plan) {
  std::string remark;
  if (plan.resume.init_from) {
    const auto source = convert::open_weights(*plan.resume.init_from);
    check_same_spec(plan.spec, *source, *plan.resume.init_from);
    runtime.load_weights(*source);
    remark = source->remark();
    const fs::path manifest = fs::path(*plan.resume.init_from) / checkpoint::manifest_name;
    if (path_exists(manifest) || plan.parameter_settings.mup.base_width() > 0) {
      const std::string conditions =
          path_exists(manifest) ? checkpoint::load_manifest(*plan.resume.init_from).state.conditions : "";
      const std::string change = describe_mup_change(conditions, plan);
      if (!change.empty()) remark += (remark.empty() ? "" : "; ") + change;
    }
  } else {
    runtime.initialise_weights(plan.seed, plan.parameter_settings);
  }
  start_average(runtime.context(), runtime.storage());
  return remark;
}

checkpoint::TrainingState initial_state(const plan::Plan& plan, const data::Mixture& dataset) {
  checkpoint::TrainingState state;
  state.seed = plan.seed;
  state.sequence_length = plan.sequence_length;
  state.dataset_digest = dataset.content_digest();
  return state;
}

}  // namespace dt::train
