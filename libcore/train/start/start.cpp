#include "train/start/start.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/error.hpp"
#include "checkpoint/writer.hpp"
#include "comm/exchange.hpp"
#include "convert/weight_source.hpp"
#include "train/start/search.hpp"

namespace dt::train {

namespace {

Start start_from_scratch(const StartRequest& origin) {
  Start start;
  comm::run_collectively(origin.ranks.world, [&] { start.plan = origin.make_plan(nullptr); });
  start.plan.arithmetic = origin.choose_arithmetic(start.plan, nullptr);
  origin.make_runtime(start);
  std::string remark;
  comm::run_collectively(origin.ranks.world, [&] {
    remark = load_initial_weights(*start.runtime, origin.settings, start.plan);
    start.state = initial_state(start.plan, origin.dataset);
  });
  if (!remark.empty()) origin.ranks.console.warn("{}", remark);
  return start;
}

}  // namespace

std::string foreign_parent_checkpoint(const run::RunDirectory& run) {
  const std::vector<run::Generation> claimed = run.generations();
  std::string continues = claimed.empty() ? "" : claimed.back().continues;
  while (!continues.empty() && continues.find('/') == std::string::npos) {
    const auto parent = checkpoint::parse_checkpoint_name(continues);
    const auto older = std::find_if(claimed.begin(), claimed.end(),
                                    [&](const auto& g) { return parent && g.number == parent->generation; });
    continues = older == claimed.end() ? "" : older->continues;
  }
  return continues;
}

namespace {

/// Refuses to start anew if the lineage has no checkpoints, but the run has or had some.
void require_existing_lineage(const run::RunDirectory& run) {
  const std::vector<run::Generation> claimed = run.generations();
  const std::size_t others = run.checkpoints().size();
  const std::string continues = claimed.empty() ? "" : claimed.back().continues;
  if (others == 0 && continues.empty()) return;
  const std::string name = run.path().string();
  const std::string newest = claimed.empty() ? "" : fmt::format(" {}", claimed.back().number);
  throw Error(ErrorKind::input,
              fmt::format("{}: its newest generation{} {} and has no checkpoint{}", name, newest,
                          continues.empty() ? "began anew"
                                            : fmt::format("went on from {}, which is gone,", continues),
                          others == 0 ? "" : fmt::format("; {} of others are there", others)),
              fmt::format("name one that 'dt-checkpoint list {}' shows with --resume, or begin anew with "
                          "--resume never",
                          name));
}

/// Returns the run's checkpoints and those on its nodes, newest first. An announced checkpoint that
/// no node holds is included if it is newer than all of these. An older one was removed when a
/// newer one was saved.
std::vector<Candidate> candidates_on_lineage(const run::RunDirectory& run,
                                             std::span<const run::LocalCheckpoint> local) {
  std::vector<checkpoint::CheckpointEntry> entries = run.checkpoints();
  std::map<fs::path, const run::LocalCheckpoint*> on_nodes;
  for (const run::LocalCheckpoint& c : local) {
    const fs::path path = run.checkpoints_path() / checkpoint::checkpoint_name(c.step, c.generation);
    const auto has_path = [&](const checkpoint::CheckpointEntry& entry) { return entry.path == path; };
    if (std::any_of(entries.begin(), entries.end(), has_path)) continue;
    entries.push_back({path, c.step, c.generation});
    on_nodes[path] = &c;
  }
  std::vector<Candidate> candidates;
  for (const checkpoint::CheckpointEntry& entry : run.on_lineage(std::move(entries))) {
    const auto found = on_nodes.find(entry.path);
    const bool is_lost = found != on_nodes.end() && found->second->holders.empty();
    if (is_lost && !candidates.empty()) continue;
    candidates.push_back({entry.path, false, found == on_nodes.end() ? "" : run::to_text(*found->second)});
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> resume_candidates(const plan::Settings& settings, const run::RunDirectory* run,
                                         std::span<const run::LocalCheckpoint> local) {
  if (settings.resume == "never") return {};
  if (settings.resume != "auto") return {{settings.resume, true}};
  std::vector<Candidate> candidates;
  if (run) {
    candidates = candidates_on_lineage(*run, local);
    if (const std::string origin = foreign_parent_checkpoint(*run); !origin.empty())
      candidates.push_back({origin, false});
    if (candidates.empty()) require_existing_lineage(*run);
  }
  return candidates;
}

model::ModelSpec choose_spec(const plan::Settings& settings, const std::vector<Candidate>& candidates) {
  if (settings.model) {
    model::ModelSpec spec = model::load_model_spec(*settings.model);
    if (settings.init_from && candidates.empty()) {
      const model::SpecialTokens special = convert::open_weights(*settings.init_from)->spec().special;
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
  if (settings.init_from) return convert::open_weights(*settings.init_from)->spec();
  throw Error(ErrorKind::usage, "--model is missing",
              fmt::format("give a config.json or one of: {}", fmt::join(model::preset_names(), ", ")));
}

void check_same_spec(const model::ModelSpec& asked, const convert::WeightSource& found,
                     const fs::path& weights) {
  if (model::same_computation(asked, found.spec())) return;
  const std::string remark = found.remark();
  throw Error(ErrorKind::input,
              fmt::format("--model is not the model in {}{}", weights.string(),
                          remark.empty() ? "" : fmt::format(" ({})", remark)),
              "leave --model out to take it from there");
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
  comm::run_collectively(ranks.world, [&] { spec = choose_spec(settings, candidates); });
  const model::SpecialTokens given = spec->special;
  spec->special = training_special_tokens(given, dataset);
  const StartRequest origin{settings, *spec, dataset, promotion, launch, ranks};
  CheckpointSearch search(origin);
  for (const Candidate& candidate : candidates) {
    if (auto start = search.start_from(candidate)) return std::move(*start);
  }
  if (!candidates.empty()) search.fail();
  Start start = start_from_scratch(origin);
  // A preset's ids are those of another tokenizer, and the user did not choose them.
  if (!model::is_preset(settings.model.value_or("")) || settings.init_from)
    warn_changed_end_of_text(given, spec->special, ranks.console);
  return start;
}

std::string load_initial_weights(ModelRuntime& runtime, const plan::Settings& settings,
                                 const plan::Plan& plan) {
  if (!settings.init_from) {
    runtime.initialise_weights(plan.seed);
    return {};
  }
  const auto source = convert::open_weights(*settings.init_from);
  check_same_spec(plan.spec, *source, *settings.init_from);
  runtime.load_weights(*source);
  return source->remark();
}

checkpoint::TrainingState initial_state(const plan::Plan& plan, const data::Mixture& dataset) {
  checkpoint::TrainingState state;
  state.seed = plan.seed;
  state.sequence_length = plan.sequence_length;
  state.dataset_digest = dataset.content_digest();
  return state;
}

}  // namespace dt::train
