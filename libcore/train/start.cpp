#include "train/start.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "checkpoint/reader.hpp"
#include "train/conditions.hpp"
#include "train/state_io.hpp"

namespace dt::train {

namespace {

/// Runs `attempt`; where an optional candidate fails it, warns and answers false.
template <class Attempt>
bool readable(const Candidate& candidate, Console& console, const Attempt& attempt) {
  try {
    attempt();
    return true;
  } catch (const Error& error) {
    if (candidate.required || error.kind() != ErrorKind::input) throw;
    console.warn("passing over {}: {}", candidate.path.string(), error.message());
    return false;
  }
}

std::unique_ptr<ModelRuntime> make_runtime(const Plan& plan) {
  return std::make_unique<ModelRuntime>(plan, ModelRuntime::Purpose::training);
}

std::optional<Start> start_from(const Candidate& candidate, const Settings& settings,
                                const model::ModelSpec& spec, const data::TokenDataset& dataset,
                                Console& console) {
  std::optional<checkpoint::Reader> reader;
  if (!readable(candidate, console, [&] { reader.emplace(candidate.path); })) return std::nullopt;
  const checkpoint::Manifest& manifest = reader->manifest();
  Start start;
  start.plan = make_plan(settings, spec, dataset, &manifest.state);
  check_resumable(start.plan, manifest, dataset.content_digest());
  start.runtime = make_runtime(start.plan);
  if (!readable(candidate, console, [&] { load_state(*reader, start.runtime->storage()); }))
    return std::nullopt;
  for (const std::string& difference :
       condition_differences(manifest.state.conditions, describe_conditions(start.plan))) {
    console.info("not bit for bit as before: {}", difference);
  }
  start.state = manifest.state;
  start.checkpoint = candidate.path;
  return start;
}

Start start_anew(const Settings& settings, const model::ModelSpec& spec, const data::TokenDataset& dataset) {
  Start start;
  start.plan = make_plan(settings, spec, dataset, nullptr);
  start.runtime = make_runtime(start.plan);
  if (settings.init_from) {
    const auto source = checkpoint::open_weights(*settings.init_from);
    check_same_spec(spec, source->spec(), *settings.init_from);
    start.runtime->load_weights(*source);
  } else {
    start.runtime->initialise_weights(start.plan.seed);
  }
  start.state = initial_state(start.plan, dataset);
  return start;
}

}  // namespace

std::string outside_origin(const checkpoint::RunDirectory& run) {
  const std::vector<checkpoint::Generation> claimed = run.generations();
  std::string continues = claimed.empty() ? "" : claimed.back().continues;
  while (!continues.empty() && continues.find('/') == std::string::npos) {
    const auto parent = checkpoint::parse_checkpoint_name(continues);
    const auto older = std::find_if(claimed.begin(), claimed.end(),
                                    [&](const auto& g) { return parent && g.number == parent->generation; });
    continues = older == claimed.end() ? "" : older->continues;
  }
  return continues;
}

std::vector<Candidate> resume_candidates(const Settings& settings, const checkpoint::RunDirectory* run) {
  if (settings.resume == "never") return {};
  if (settings.resume != "auto") return {{settings.resume, true}};
  std::vector<Candidate> candidates;
  if (run) {
    for (const checkpoint::CheckpointEntry& entry : run->lineage()) candidates.push_back({entry.path, false});
    if (const std::string origin = outside_origin(*run); !origin.empty())
      candidates.push_back({origin, false});
  }
  return candidates;
}

model::ModelSpec choose_spec(const Settings& settings, const std::vector<Candidate>& candidates) {
  if (settings.model) return model::load_model_spec(*settings.model);
  for (const Candidate& candidate : candidates) {
    try {
      return checkpoint::load_manifest(candidate.path).model;
    } catch (const Error&) {
      if (candidate.required) throw;
    }
  }
  if (settings.init_from) return checkpoint::open_weights(*settings.init_from)->spec();
  throw Error(ErrorKind::usage, "--model is missing",
              fmt::format("give a config.json or one of: {}", fmt::join(model::preset_names(), ", ")));
}

void check_same_spec(const model::ModelSpec& asked, const model::ModelSpec& found, const fs::path& weights) {
  if (asked == found) return;
  throw Error(ErrorKind::input, fmt::format("--model is not the model in {}", weights.string()),
              "leave --model out to take it from there");
}

Start prepare_start(const Settings& settings, const data::TokenDataset& dataset,
                    const std::vector<Candidate>& candidates, Console& console) {
  const model::ModelSpec spec = choose_spec(settings, candidates);
  for (const Candidate& candidate : candidates) {
    if (auto start = start_from(candidate, settings, spec, dataset, console)) return std::move(*start);
  }
  if (!candidates.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("none of the run's {} checkpoints can be read", candidates.size()),
                "see dt-checkpoint verify, or begin anew with --resume never");
  }
  return start_anew(settings, spec, dataset);
}

checkpoint::TrainingState initial_state(const Plan& plan, const data::TokenDataset& dataset) {
  checkpoint::TrainingState state;
  state.seed = plan.seed;
  state.sequence_length = plan.sequence_length;
  state.dataset_digest = dataset.content_digest();
  return state;
}

}  // namespace dt::train
