#include "train/start.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "base/error.hpp"
#include "checkpoint/reader.hpp"
#include "comm/exchange.hpp"
#include "train/agreement.hpp"
#include "train/conditions.hpp"
#include "train/precision.hpp"
#include "train/state_io.hpp"

namespace dt::train {

namespace {

/// Runs `attempt` on all ranks; where an optional candidate fails it on any, warns and answers false.
bool readable(const Candidate& candidate, const comm::Ranks& ranks, const std::function<void()>& attempt) {
  try {
    comm::together(ranks.world, attempt);
    return true;
  } catch (const Error& error) {
    if (candidate.required || error.kind() != ErrorKind::input) throw;
    ranks.console.warn("passing over {}: {}", candidate.path.string(), error.message());
    return false;
  }
}

/// What preparing needs to know.
struct Origin {
  const Settings& settings;
  const model::ModelSpec& spec;
  const data::TokenDataset& dataset;
  const Place& place;
  const comm::Ranks& ranks;

  DType choose_multiply(const Plan& plan, const checkpoint::TrainingState* resumed) const {
    return train::choose_multiply(settings, plan.precision, plan.threads, resumed, ranks);
  }
  void make_runtime(Start& start) const {
    start.groups = divide_ranks(start.plan, ranks.world);
    comm::together(ranks.world, [&] {
      start.runtime =
          std::make_unique<ModelRuntime>(start.plan, ModelRuntime::Purpose::training, start.groups.sharding);
    });
  }
};

std::optional<Start> start_from(const Candidate& candidate, const Origin& origin) {
  const comm::Ranks& ranks = origin.ranks;
  std::optional<checkpoint::Reader> reader;
  const auto open = [&] {
    reader.emplace(candidate.path);
    checkpoint::require_moments(*reader);
  };
  if (!readable(candidate, ranks, [&] {
        if (ranks.is_first()) open();
      }))
    return std::nullopt;
  check_visible(ranks, candidate.path / checkpoint::manifest_name);
  if (!readable(candidate, ranks, [&] {
        if (!ranks.is_first()) open();
      }))
    return std::nullopt;
  const checkpoint::Manifest& manifest = reader->manifest();
  Start start;
  comm::together(ranks.world, [&] {
    start.plan = make_plan(origin.settings, origin.spec, origin.dataset, origin.place, &manifest.state);
    check_resumable(start.plan, manifest, origin.dataset.content_digest());
  });
  start.plan.multiply = origin.choose_multiply(start.plan, &manifest.state);
  origin.make_runtime(start);
  if (!readable(candidate, ranks,
                [&] { load_state(start.runtime->context(), *reader, start.runtime->storage()); }))
    return std::nullopt;
  for (const std::string& difference :
       condition_differences(manifest.state.conditions, describe_conditions(start.plan))) {
    ranks.console.info("not bit for bit as before: {}", difference);
  }
  start.state = manifest.state;
  start.checkpoint = candidate.path;
  return start;
}

Start start_anew(const Origin& origin) {
  Start start;
  comm::together(origin.ranks.world, [&] {
    start.plan = make_plan(origin.settings, origin.spec, origin.dataset, origin.place, nullptr);
  });
  start.plan.multiply = origin.choose_multiply(start.plan, nullptr);
  origin.make_runtime(start);
  comm::together(origin.ranks.world, [&] {
    fill_weights(*start.runtime, origin.settings, start.plan);
    start.state = initial_state(start.plan, origin.dataset);
  });
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
                    const std::vector<Candidate>& candidates, const Place& place, const comm::Ranks& ranks) {
  std::optional<model::ModelSpec> spec;
  comm::together(ranks.world, [&] { spec = choose_spec(settings, candidates); });
  const Origin origin{settings, *spec, dataset, place, ranks};
  for (const Candidate& candidate : candidates) {
    if (auto start = start_from(candidate, origin)) return std::move(*start);
  }
  if (!candidates.empty()) {
    throw comm::SharedError(ErrorKind::input,
                            fmt::format("none of the run's {} checkpoints can be read", candidates.size()),
                            "see dt-checkpoint verify, or begin anew with --resume never");
  }
  return start_anew(origin);
}

void fill_weights(ModelRuntime& runtime, const Settings& settings, const Plan& plan) {
  if (!settings.init_from) return runtime.initialise_weights(plan.seed);
  const auto source = checkpoint::open_weights(*settings.init_from);
  check_same_spec(plan.spec, source->spec(), *settings.init_from);
  runtime.load_weights(*source);
}

checkpoint::TrainingState initial_state(const Plan& plan, const data::TokenDataset& dataset) {
  checkpoint::TrainingState state;
  state.seed = plan.seed;
  state.sequence_length = plan.sequence_length;
  state.dataset_digest = dataset.content_digest();
  return state;
}

}  // namespace dt::train
