#include "train/saver.hpp"

#include "base/error.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"
#include "train/agreement.hpp"
#include "train/state_io.hpp"

namespace dt::train {

namespace {

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

/// Thrown into a writing that is of no use any more.
struct GivenUp {};

/// Adds the time until its end to a sum.
class Stall {
 public:
  explicit Stall(double& sum) : sum_(sum) {}
  ~Stall() { sum_ += monotonic_s() - began_s_; }

 private:
  double& sum_;
  double began_s_ = monotonic_s();
};

}  // namespace

Saver::Saver(const comm::Ranks& ranks, const checkpoint::RunDirectory& run, const checkpoint::Generation& own,
             const parallel::ModelStorage& storage, Retention retention, bool in_background,
             std::optional<std::int64_t> writers_per_node)
    : ranks_(ranks),
      run_(run),
      own_(own),
      storage_(storage),
      retention_(retention),
      group_(ranks.world, storage, writers_per_node, in_background) {}

Saver::~Saver() {
  is_cancelled_ = true;
  if (task_.valid()) task_.wait();
}

void Saver::begin(const checkpoint::Manifest& header, bool state_changes) {
  DT_CHECK(phase_ == Phase::idle, "a save of step {} while another is under way", header.state.step);
  saved_ = SavedCheckpoint();
  saved_.step = header.state.step;
  const Stall stall(saved_.stall_s);
  began_s_ = monotonic_s();
  header_ = header;
  has_failed_ = false;
  at_first(ranks_, [&] { unfinished_.emplace(run_.checkpoints_path(), header.state.step, own_.number); });
  const fs::path folder =
      comm::broadcast_text(ranks_.world, unfinished_ ? unfinished_->path().string() : std::string());
  comm::together(ranks_.world, [&] {
    may_change_ = !state_changes;
    task_ = std::async(std::launch::async,
                       [this, folder, state_changes, pieces = share_of_state(storage_)]() mutable {
                         write(folder, std::move(pieces), state_changes);
                       });
  });
  phase_ = Phase::writing;
}

void Saver::write(const fs::path& folder, std::vector<checkpoint::SourcePiece> pieces, bool from_copy) {
  if (from_copy || !group_.writes()) {
    group_.copy(pieces);
    may_change_ = true;
    may_change_.notify_all();
  }
  if (!group_.writes()) return;
  const auto give_up_if_cancelled = [this] {
    if (is_cancelled_) throw GivenUp();
  };
  try {
    group_.collect(pieces, give_up_if_cancelled);
    checkpoint::write_part(folder, header_, group_.file(), pieces,
                           [&](std::uint64_t) { give_up_if_cancelled(); });
  } catch (const GivenUp&) {
  } catch (...) {
    has_failed_ = true;
    throw;
  }
}

void Saver::let_change() {
  if (may_change_) return;
  const Stall stall(saved_.stall_s);
  may_change_.wait(false);
}

bool Saver::is_task_done() const {
  return task_.valid() && task_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void Saver::report(StepReport& report) const {
  if (phase_ == Phase::idle || !is_task_done()) return;
  report.save_failed = has_failed_;
  (phase_ == Phase::writing ? report.parts_written : report.commits) = has_failed_ ? 0 : 1;
}

std::optional<SavedCheckpoint> Saver::advance(const Decision& decision) {
  if (phase_ == Phase::idle) return std::nullopt;
  if (decision.save_failed) {
    is_cancelled_ = true;  // the others' parts are of no use
    join();
  }
  if (phase_ == Phase::writing && decision.parts_written == ranks_.world.size()) begin_commit();
  if (phase_ == Phase::committing && decision.commits > 0) return end();
  return std::nullopt;
}

SavedCheckpoint Saver::finish() {
  {
    const Stall stall(saved_.stall_s);
    if (phase_ == Phase::writing) begin_commit();
    join();
  }
  return end();
}

void Saver::join() {
  comm::together(ranks_.world, [this] {
    if (task_.valid()) task_.get();
  });
}

void Saver::begin_commit() {
  join();
  phase_ = Phase::committing;
  if (ranks_.is_first()) task_ = std::async(std::launch::async, [this] { commit(); });
}

void Saver::commit() {
  try {
    if (run_.is_superseded(own_)) give_way(run_, own_);
    saved_.path = unfinished_->commit(header_, group_.num_files());
    saved_.bytes = folder_bytes(saved_.path);
    saved_.write_s = monotonic_s() - began_s_;
  } catch (...) {
    has_failed_ = true;
    throw;
  }
  try {
    saved_.removed = run_.prune(own_.number, retention_.keep_last, retention_.keep_every);
  } catch (const Error& error) {  // the checkpoint is there all the same
    saved_.why_not_removed = error.message();
  }
}

SavedCheckpoint Saver::end() {
  phase_ = Phase::idle;
  task_ = {};
  unfinished_.reset();
  return saved_;
}

void give_way(const checkpoint::RunDirectory& run, const checkpoint::Generation& own) {
  throw comm::SharedError(ErrorKind::environment,
                          fmt::format("another start has taken {} over from generation {}: this one ends",
                                      run.path().string(), own.number),
                          "the other goes on from the newest checkpoint that it found");
}

}  // namespace dt::train
