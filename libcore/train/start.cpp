#include "train/start.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <unistd.h>

#include "base/error.hpp"
#include "checkpoint/failed_loads.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "comm/exchange.hpp"
#include "train/agreement.hpp"
#include "train/conditions.hpp"
#include "train/precision.hpp"
#include "train/resumable.hpp"
#include "train/state_io.hpp"

namespace dt::train {

namespace {

/// What preparing needs to know.
struct Origin {
  const Settings& settings;
  const model::ModelSpec& spec;
  const data::TokenDataset& dataset;
  const Promotion& promotion;
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

/// A file that is there but may not be read is no damage: an older checkpoint would be the wrong answer.
void check_permitted(const fs::path& path) {
  if (::access(path.c_str(), R_OK) == 0 || errno == ENOENT) return;
  const Error error = system_error(errno, "read", path.string());
  throw Error(ErrorKind::environment, error.what(), error.context());
}

void check_permitted(const checkpoint::Reader& reader) {
  for (const checkpoint::StoredFile& file : reader.manifest().files) {
    check_permitted(reader.path() / file.name);
  }
}

/// Nor is one that another version of dt wrote.
void check_own_format(const fs::path& checkpoint) {
  check_permitted(checkpoint / checkpoint::manifest_name);
  const fs::path path = checkpoint / checkpoint::manifest_name;
  if (checkpoint::is_manifest_whole(checkpoint)) checkpoint::parse_manifest(read_file(path), path.string());
}

/// One of weights alone, which somebody has put among the run's own.
bool is_sound_but_stateless(const fs::path& checkpoint) {
  return checkpoint::is_manifest_whole(checkpoint) &&
         checkpoint::holds_weights_alone(checkpoint::load_manifest(checkpoint));
}

/// Goes through candidates, and remembers those that it passed over.
class Search {
 public:
  explicit Search(const Origin& origin) : origin_(origin), ranks_(origin.ranks) {}

  /// None where an optional candidate is damaged.
  std::optional<Start> start_from(const Candidate& candidate);
  [[noreturn]] void give_up() const;

 private:
  /// Runs `attempt` on all ranks. Where it fails on any for what an optional candidate holds, passes over it
  /// and answers false. What the machine does wrong says nothing about the checkpoint, and is thrown.
  bool succeeds(const Candidate& candidate, const std::function<void()>& attempt);
  void pass_over(const Candidate& candidate, const Error& error);
  void count(const Candidate& candidate, const Error& error) const;
  /// On all ranks: whether the candidate is in a folder that all see, by now at least.
  bool is_at_hand(const Candidate& candidate);
  /// On all ranks; rank 0's verdict stands for all.
  std::optional<checkpoint::Reader> open(const Candidate& candidate);
  void plan(Start& start, const checkpoint::Manifest& manifest) const;
  void tell(const Start& start) const;

  const Origin& origin_;
  const comm::Ranks& ranks_;
  std::vector<checkpoint::Problem> passed_over_;
  std::string damaged_;  // the first of them that is, and is there to be mended
};

bool Search::succeeds(const Candidate& candidate, const std::function<void()>& attempt) {
  try {
    comm::together(ranks_.world, attempt);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::environment && !candidate.required) {
      throw comm::SharedError(error.kind(),
                              fmt::format("loading {}: {}", candidate.path.string(), error.message()),
                              "start again once that is mended, or name another checkpoint with --resume");
    }
    if (candidate.required || error.kind() != ErrorKind::input) throw;
    pass_over(candidate, error);
    return false;
  }
}

void Search::pass_over(const Candidate& candidate, const Error& error) {
  passed_over_.push_back({candidate.path.string(), error.message()});
  ranks_.console.warn("passing over {}: {}", candidate.path.string(), error.message());
  std::int64_t is_damaged = 0;
  at_first(ranks_, [&] {
    std::error_code error;
    is_damaged = fs::exists(candidate.path, error) && !is_sound_but_stateless(candidate.path) ? 1 : 0;
  });
  if (comm::broadcast_number(ranks_.world, is_damaged) == 0) return;
  if (damaged_.empty()) damaged_ = candidate.path.string();
  if (ranks_.is_first()) count(candidate, error);
}

void Search::count(const Candidate& candidate, const Error& error) const {
  try {
    checkpoint::record_failed_load(candidate.path, error.message());
  } catch (const Error& failure) {  // it costs the next start a reading
    ranks_.console.warn("cannot keep account of that: {}", failure.message());
  }
}

bool Search::is_at_hand(const Candidate& candidate) {
  if (candidate.local.empty()) return true;
  try {
    origin_.promotion.promote(checkpoint::parse_local_checkpoint(candidate.local));
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    pass_over(candidate, error);
    return false;
  }
}

std::optional<checkpoint::Reader> Search::open(const Candidate& candidate) {
  at_first(ranks_, [&] { check_own_format(candidate.path); });
  std::optional<checkpoint::Reader> reader;
  if (!succeeds(candidate, [&] {
        if (!ranks_.is_first()) return;
        const std::string why = candidate.required ? "" : checkpoint::why_set_aside(candidate.path);
        if (!why.empty()) throw Error(ErrorKind::input, why);
        reader.emplace(candidate.path);
        check_permitted(*reader);
        checkpoint::require_moments(*reader);
      }))
    return std::nullopt;
  check_visible(ranks_, candidate.path / checkpoint::manifest_name);
  comm::together(ranks_.world, [&] {
    if (ranks_.is_first()) return;
    try {
      reader.emplace(candidate.path);
      check_permitted(*reader);
    } catch (const Error& error) {
      throw Error(ErrorKind::environment, error.what(), "rank 0 sees it whole: this node's view is another");
    }
  });
  return reader;
}

void Search::plan(Start& start, const checkpoint::Manifest& manifest) const {
  comm::together(ranks_.world, [&] {
    start.plan = make_plan(origin_.settings, origin_.spec, origin_.dataset, origin_.place, &manifest.state);
    check_resumable(start.plan, manifest, origin_.dataset.content_digest());
  });
  start.plan.multiply = origin_.choose_multiply(start.plan, &manifest.state);
}

void Search::tell(const Start& start) const {
  for (const std::string& difference :
       condition_differences(start.state.conditions, describe_conditions(start.plan))) {
    ranks_.console.info("not bit for bit as before: {}", difference);
  }
  if (damaged_.empty()) return;
  ranks_.console.warn("step {} is what can be loaded; once {} is repaired, --resume {} takes it up",
                      start.state.step, damaged_, damaged_);
}

std::optional<Start> Search::start_from(const Candidate& candidate) {
  if (!is_at_hand(candidate)) return std::nullopt;
  const std::optional<checkpoint::Reader> reader = open(candidate);
  if (!reader) return std::nullopt;
  Start start;
  plan(start, reader->manifest());
  origin_.make_runtime(start);
  if (!succeeds(candidate, [&] { load_state(start.runtime->context(), *reader, start.runtime->storage()); }))
    return std::nullopt;
  if (ranks_.is_first()) {
    try {
      checkpoint::forget_failed_loads(candidate.path);
    } catch (const Error& failure) {  // as in another's run
      ranks_.console.warn("it loads, but is still set aside: {}", failure.message());
    }
  }
  start.state = reader->manifest().state;
  start.checkpoint = candidate.path;
  start.passed_over = passed_over_;
  tell(start);
  return start;
}

void Search::give_up() const {
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("none of the run's {} checkpoints can be loaded, for the reasons above",
                  passed_over_.size()),
      damaged_.empty()
          ? "--resume never begins anew"
          : fmt::format(
                "'dt-checkpoint verify {}' lists all that is wrong with it, 'dt-checkpoint repair' mends it "
                "from a copy; --resume never begins anew",
                damaged_));
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

namespace {

/// Nothing on the lineage is no reason to begin anew where there were checkpoints.
void refuse_forgetting(const checkpoint::RunDirectory& run) {
  const std::vector<checkpoint::Generation> claimed = run.generations();
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

/// The run's own and those that its nodes hold, newest first. What was announced and no node holds any of is
/// among them where it is newer than all of these: an older one went when a newer one came.
std::vector<Candidate> candidates_on_lineage(const checkpoint::RunDirectory& run,
                                             std::span<const checkpoint::LocalCheckpoint> local) {
  std::vector<checkpoint::CheckpointEntry> entries = run.checkpoints();
  std::map<fs::path, const checkpoint::LocalCheckpoint*> on_nodes;
  for (const checkpoint::LocalCheckpoint& c : local) {
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
    candidates.push_back(
        {entry.path, false, found == on_nodes.end() ? "" : checkpoint::to_text(*found->second)});
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> resume_candidates(const Settings& settings, const checkpoint::RunDirectory* run,
                                         std::span<const checkpoint::LocalCheckpoint> local) {
  if (settings.resume == "never") return {};
  if (settings.resume != "auto") return {{settings.resume, true}};
  std::vector<Candidate> candidates;
  if (run) {
    candidates = candidates_on_lineage(*run, local);
    if (const std::string origin = outside_origin(*run); !origin.empty())
      candidates.push_back({origin, false});
    if (candidates.empty()) refuse_forgetting(*run);
  }
  return candidates;
}

model::ModelSpec choose_spec(const Settings& settings, const std::vector<Candidate>& candidates) {
  if (settings.model) return model::load_model_spec(*settings.model);
  for (const Candidate& candidate : candidates) {
    try {
      if (!candidate.local.empty()) {
        const std::string header = checkpoint::parse_local_checkpoint(candidate.local).header_text;
        return checkpoint::parse_manifest(header, candidate.path.string()).model;
      }
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
                    const std::vector<Candidate>& candidates, const Promotion& promotion, const Place& place,
                    const comm::Ranks& ranks) {
  std::optional<model::ModelSpec> spec;
  comm::together(ranks.world, [&] { spec = choose_spec(settings, candidates); });
  const Origin origin{settings, *spec, dataset, promotion, place, ranks};
  Search search(origin);
  for (const Candidate& candidate : candidates) {
    if (auto start = search.start_from(candidate)) return std::move(*start);
  }
  if (!candidates.empty()) search.give_up();
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
