#include "run/save/saver.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "run/gather_written.hpp"

namespace dt::run {

namespace {

/// Thrown to end a write that is no longer needed.
struct SaveCancelled {};

/// Adds the time of its lifetime to a sum.
class StallTimer {
 public:
  explicit StallTimer(double& sum) : sum_(sum) {}
  ~StallTimer() { sum_ += monotonic_s() - began_s_; }

 private:
  double& sum_;
  double began_s_ = monotonic_s();
};

/// Lets the state change on destruction, however the copy ended.
class CopyInProgress {
 public:
  explicit CopyInProgress(std::atomic<bool>& may_change) : may_change_(may_change) {}
  CopyInProgress(const CopyInProgress&) = delete;
  ~CopyInProgress() {
    may_change_ = true;
    may_change_.notify_all();
  }

 private:
  std::atomic<bool>& may_change_;
};

}  // namespace

Saver::Saver(const comm::Ranks& ranks, StateShards shards, bool in_background,
             std::optional<std::int64_t> writers_per_node)
    : ranks_(ranks),
      shards_(std::move(shards)),
      group_(ranks.world, shards_, writers_per_node, in_background) {}

Saver::~Saver() {
  is_cancelled_ = true;
  if (task_.valid()) task_.wait();
  end_target(false);
}

void Saver::begin(SaveTarget& target, const checkpoint::Manifest& header, bool state_changes) {
  DT_CHECK(phase_ == Phase::idle, "a save of step {} begins before the last one ended", header.state.step);
  saved_ = SavedCheckpoint();
  saved_.step = header.state.step;
  const StallTimer stall(saved_.stall_s);
  began_s_ = monotonic_s();
  header_ = header;
  has_failed_ = false;
  written_ = {};
  target_ = &target;
  const fs::path folder = target.begin(header);
  comm::run_collectively(ranks_.world, [&] {
    is_copied_ = !state_changes;
    group_.order_after_training();
    task_ = std::async(std::launch::async, [this, folder, state_changes, pieces = shards_.own()]() mutable {
      write(folder, std::move(pieces), state_changes);
    });
  });
  phase_ = Phase::writing;
}

void Saver::write(const fs::path& folder, std::vector<checkpoint::SourcePiece> pieces, bool from_copy) {
  try {
    if (from_copy || group_.needs_copy()) {
      const CopyInProgress copying(is_copied_);
      group_.copy(pieces);
    }
    if (group_.writes()) write_file(folder, pieces);
  } catch (const SaveCancelled&) {
  } catch (...) {
    has_failed_ = true;
    throw;
  }
}

void Saver::write_file(const fs::path& folder, std::vector<checkpoint::SourcePiece>& pieces) {
  const auto check = [this] {
    if (is_cancelled_) throw SaveCancelled();
  };
  group_.append_members(pieces, check);
  const auto written = [&](std::uint64_t) { check(); };
  if (target_->keeps_writer_manifests(group_.num_files())) {
    checkpoint::write_shard(folder, header_, group_.file(), pieces, written);
  } else {
    written_.add(checkpoint::write_files(folder, header_, group_.file(), pieces, written));
  }
  target_->finish_shard(check);
}

void Saver::wait_until_copied() {
  if (is_copied_) return;
  const StallTimer stall(saved_.stall_s);
  is_copied_.wait(false);
}

bool Saver::is_task_done() const {
  return task_.valid() && task_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

SaveProgress Saver::progress() const {
  SaveProgress own;
  if (phase_ == Phase::idle || !is_task_done()) return own;
  own.has_failed = has_failed_;
  (phase_ == Phase::writing ? own.shards_written : own.commits) = has_failed_ ? 0 : 1;
  return own;
}

std::optional<SavedCheckpoint> Saver::advance(const SaveProgress& of_all) {
  if (phase_ == Phase::idle) return std::nullopt;
  if (of_all.has_failed) {
    is_cancelled_ = true;  // shards of the other ranks are useless
    join();
  }
  if (phase_ == Phase::writing && of_all.shards_written == ranks_.world.size()) begin_commit();
  if (phase_ == Phase::committing && of_all.commits == target_->num_committers()) return end();
  return std::nullopt;
}

SavedCheckpoint Saver::finish() {
  {
    const StallTimer stall(saved_.stall_s);
    if (phase_ == Phase::writing) begin_commit();
    join();
  }
  return end();
}

/// Waits in rounds, since a rank may write for longer than the timeout of one message. A round ends as soon
/// as all tasks are done, however long it may last. So rounds are few: each takes messages of all ranks.
void Saver::join() {
  constexpr double longest_round_s = 1, of_timeout = 0.1;
  const double timeout_s = ranks_.world.engine().timeout();
  const std::chrono::duration<double> round(timeout_s > 0 ? std::min(longest_round_s, of_timeout * timeout_s)
                                                          : longest_round_s);
  std::int64_t num_busy = 1, num_failed = 0;
  while (num_busy > 0) {
    const bool is_done = !task_.valid() || task_.wait_for(round) == std::future_status::ready;
    std::array<std::int64_t, 2> counts = {is_done ? 0 : 1, is_done && has_failed_ ? 1 : 0};
    comm::all_reduce_sum(ranks_.world, counts);
    num_busy = counts[0];
    num_failed = counts[1];
  }
  comm::run_collectively(ranks_.world, [&] {
    if (num_failed > 0) target_->check_run_in_place();  // explains what the tasks met
    if (task_.valid()) task_.get();
  });
}

void Saver::begin_commit() {
  join();
  if (!target_->keeps_writer_manifests(group_.num_files())) gather_written(ranks_.world, written_);
  phase_ = Phase::committing;
  if (target_->is_committer()) task_ = std::async(std::launch::async, [this] { commit(); });
}

void Saver::commit() {
  try {
    target_->commit(saved_, group_.num_files(), written_);
    saved_.write_s = monotonic_s() - began_s_;
  } catch (...) {
    has_failed_ = true;
    throw;
  }
}

SavedCheckpoint Saver::end() {
  phase_ = Phase::idle;
  task_ = {};
  target_->complete(saved_);
  end_target(true);
  return saved_;
}

void Saver::end_target(bool is_announced) {
  if (target_ != nullptr) target_->end(is_announced);
  target_ = nullptr;
}

}  // namespace dt::run
