#include "train/start/search.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "comm/exchange.hpp"
#include "plan/precision.hpp"
#include "plan/resumable.hpp"
#include "run/exclusion_records.hpp"
#include "train/start/conditions.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/schedule_change.hpp"
#include "train/start/state_change.hpp"
#include "train/start/state_io.hpp"

namespace dt::train {

namespace {

/// Refuses a file that exists but may not be read. A missing permission is no damage: an older
/// checkpoint would be the wrong answer.
void check_readable(const fs::path& path) {
  if (::access(path.c_str(), R_OK) != 0 && errno != ENOENT) throw system_error(errno, "read", path.string());
}

void check_readable(const checkpoint::Reader& reader) {
  const checkpoint::Manifest& manifest = reader.manifest();
  if (manifest.index) check_readable(reader.path() / manifest.index->name);
  for (const checkpoint::StoredFile& file : manifest.files) check_readable(reader.path() / file.name);
}

/// Refuses a checkpoint of another version of dt, which is no damage either.
void check_format_version(const fs::path& checkpoint) {
  check_readable(checkpoint / checkpoint::manifest_name);
  const fs::path path = checkpoint / checkpoint::manifest_name;
  if (checkpoint::is_manifest_intact(checkpoint)) checkpoint::parse_manifest(read_file(path), path.string());
}

/// Returns whether a checkpoint has only weights. A user has then put it among the run's own.
bool is_valid_weights_only(const fs::path& checkpoint) {
  try {
    if (!checkpoint::is_manifest_intact(checkpoint)) return false;
    const checkpoint::Manifest manifest = checkpoint::load_manifest(checkpoint);
    return checkpoint::has_weights_only(manifest, *checkpoint::open_pieces(manifest, checkpoint));
  } catch (const Error&) {  // complete, but not this checkpoint's
    return false;
  }
}

}  // namespace

bool CheckpointSearch::try_candidate(const Candidate& candidate, const std::function<void()>& attempt) {
  try {
    comm::run_collectively(ranks_.world, [&] {
      try {
        attempt();
      } catch (const Error& error) {
        throw checkpoint::classify_read_error(error, candidate.path);
      }
    });
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::environment && !candidate.required) {
      throw comm::SharedError(error.kind(),
                              fmt::format("loading {}: {}", candidate.path.string(), error.message()),
                              "start again after that is repaired, or name another checkpoint with --resume");
    }
    if (candidate.required || error.kind() != ErrorKind::input) throw;
    skip_candidate(candidate, error);
    return false;
  }
}

void CheckpointSearch::skip_candidate(const Candidate& candidate, const Error& error) {
  skipped_.push_back({candidate.path.string(), error.message()});
  ranks_.console.warn("skipping {}: {}", candidate.path.string(), error.message());
  enum Verdict : std::int64_t { is_neither, is_damaged, is_not_finite };
  std::int64_t verdict = is_neither;
  comm::on_root(ranks_, [&] {
    if (!run::why_not_finite(candidate.path).empty())
      verdict = is_not_finite;
    else if (path_exists(candidate.path) && !is_valid_weights_only(candidate.path))
      verdict = is_damaged;
  });
  verdict = comm::broadcast_number(ranks_.world, verdict);
  if (verdict == is_not_finite && not_finite_.empty()) not_finite_ = candidate.path.string();
  if (verdict != is_damaged) return;
  if (damaged_.empty()) damaged_ = candidate.path.string();
  if (ranks_.is_root()) record_failed_load(candidate, error);
}

void CheckpointSearch::record_failed_load(const Candidate& candidate, const Error& error) const {
  try {
    run::record_failed_load(candidate.path, error.message());
  } catch (const Error& failure) {  // the next start must read the checkpoint again
    ranks_.console.warn("cannot record this failed load: {}", failure.message());
  }
}

bool CheckpointSearch::is_excluded(const Candidate& candidate) {
  if (candidate.required) return false;
  std::string why;
  return !try_candidate(candidate, [&] {
    if (ranks_.is_root()) why = run::why_excluded(candidate.path);
    if (!why.empty()) throw Error(ErrorKind::input, why);
  });
}

bool CheckpointSearch::make_available(const Candidate& candidate) {
  if (candidate.local.empty()) return true;
  try {
    request_.promotion.promote(run::parse_local_checkpoint(candidate.local));
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    skip_candidate(candidate, error);
    return false;
  }
}

std::optional<checkpoint::Reader> CheckpointSearch::open(const Candidate& candidate) {
  comm::on_root(ranks_, [&] { check_format_version(candidate.path); });
  std::optional<checkpoint::Reader> reader;
  if (!try_candidate(candidate, [&] {
        if (!ranks_.is_root()) return;
        reader.emplace(candidate.path);
        check_readable(*reader);
        checkpoint::require_optimizer_state(*reader);
      }))
    return std::nullopt;
  check_same_view(ranks_, candidate.path / checkpoint::manifest_name);
  comm::run_collectively(ranks_.world, [&] {
    if (ranks_.is_root()) return;
    try {
      reader.emplace(candidate.path);
      check_readable(*reader);
    } catch (const Error& error) {
      throw Error(ErrorKind::environment, error.what(),
                  "rank 0 reads it without errors: this node sees other content");
    }
  });
  return reader;
}

void CheckpointSearch::make_start_plan(Start& start, const checkpoint::Reader& reader) const {
  const checkpoint::Manifest& manifest = reader.manifest();
  comm::run_collectively(ranks_.world, [&] {
    start.plan = request_.planner.fitting_plan(&manifest.state);
    if (!manifest.model.special.eos.empty())
      start.plan.spec.special = training_special_tokens(manifest.model.special, request_.dataset);
    plan::check_resumable(start.plan, manifest, reader.pieces(), request_.dataset.content_digest());
  });
  start.plan.arithmetic = plan::choose_arithmetic(start.plan, &manifest.state, ranks_);
}

void CheckpointSearch::announce(const Start& start) const {
  for (const std::string& difference :
       condition_differences(start.state.conditions, describe_conditions(start.plan))) {
    ranks_.console.info("results will not be bit-identical to the earlier run: {}", difference);
  }
  const std::string change = describe_schedule_change(start.state.schedule, start.plan, start.state.step);
  if (!change.empty()) ranks_.console.info("learning-rate schedule changed: {}", change);
  for (const std::string& text : describe_state_changes(start.state, start.plan))
    ranks_.console.info("optimizer state: {}", text);
  if (const std::string text = describe_mup_change(start.state.conditions, start.plan); !text.empty())
    ranks_.console.warn("{}", text);
  if (damaged_.empty()) return;
  ranks_.console.warn("the newest checkpoint that loads is of step {}; after {} is repaired, use --resume {}",
                      start.state.step, damaged_, damaged_);
}

std::optional<Start> CheckpointSearch::start_from(const Candidate& candidate) {
  if (is_excluded(candidate) || !make_available(candidate)) return std::nullopt;
  const std::optional<checkpoint::Reader> reader = open(candidate);
  if (!reader) return std::nullopt;
  Start start;
  make_start_plan(start, *reader);
  request_.make_runtime(start);
  if (!try_candidate(candidate,
                     [&] { load_state(start.runtime->context(), *reader, start.runtime->storage()); }))
    return std::nullopt;
  if (ranks_.is_root()) {
    try {
      run::clear_failed_loads(candidate.path);
    } catch (const Error& failure) {  // as in another user's run
      ranks_.console.warn("cannot remove the record of earlier failed loads: {}", failure.message());
    }
  }
  warn_changed_end_of_text(reader->manifest().model.special, start.plan.spec.special, ranks_.console);
  start.state = reader->manifest().state;
  start.checkpoint = candidate.path;
  start.skipped = skipped_;
  announce(start);
  return start;
}

void CheckpointSearch::fail() const {
  std::string advice = "use --resume never to start from step 0";
  if (!damaged_.empty()) {
    advice = fmt::format(
        "'dt-checkpoint verify {}' lists the damage, and 'dt-checkpoint repair' repairs it from a copy; "
        "use --resume never to start from step 0",
        damaged_);
  } else if (!not_finite_.empty()) {
    advice = fmt::format(
        "use --resume never to start from step 0, with a lower --lr or longer --warmup-steps; if another "
        "--precision or other data give the weights of {} a finite loss, use --resume {} with those",
        not_finite_, not_finite_);
  }
  throw comm::SharedError(ErrorKind::input,
                          fmt::format("none of the run's {} can be loaded; see {} above",
                                      pluralize(skipped_.size(), "checkpoint"),
                                      plural_form(skipped_.size(), "the reason", "the reasons")),
                          advice);
}

}  // namespace dt::train
