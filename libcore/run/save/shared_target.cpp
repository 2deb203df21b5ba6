#include "run/save/shared_target.hpp"

#include "base/error.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "comm/exchange.hpp"
#include "run/save/save_target.hpp"

namespace dt::run {

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

fs::path SharedTarget::begin(const checkpoint::Manifest& header) {
  header_ = header;
  finish_removal();
  comm::on_root(ranks_, [&] {
    if (alive_ != nullptr)
      alive_->check_still_held();  // not even the unfinished folder may lie in another run
    unfinished_.emplace(run_.checkpoints_path(), header.state.step, own_.number);
  });
  return comm::broadcast_text(ranks_.world, unfinished_ ? unfinished_->path().string() : std::string());
}

void SharedTarget::commit(SavedCheckpoint& saved, int num_writers, const checkpoint::WrittenPieces& written) {
  confirm_ownership(run_, own_, alive_);
  const checkpoint::CommitOptions options{
      .max_files_with_list = max_files_with_list_,
      .other_files = checkpoint::add_tokenizer_files(run_.tokenizer_path(), unfinished_->path())};
  saved.path = keeps_writer_manifests(num_writers) ? unfinished_->commit(header_, num_writers, options)
                                                   : unfinished_->commit(header_, written, options);
  saved.bytes = folder_bytes(saved.path);
}

void SharedTarget::end(bool is_announced) {
  unfinished_.reset();
  if (is_announced) unconfirmed_ = header_.state.step;
}

void SharedTarget::confirm_weights(std::int64_t step) {
  if (!unconfirmed_ || *unconfirmed_ > step) return;
  unconfirmed_.reset();
  if (ranks_.is_root()) removal_ = std::async(std::launch::async, [this] { return prune(); });
}

/// Prunes. A failure does not end training.
RemovalResult SharedTarget::prune() const {
  try {
    if (alive_ != nullptr) alive_->check_still_held();  // the path may lead to another run since the commit
    return run_.prune(own_.number, retention_.keep_last, retention_.keep_every);
  } catch (const Error& error) {
    return {{}, {{run_.checkpoints_path().string(), error.message()}}};
  }
}

void SharedTarget::finish_removal() {
  if (!removal_.valid()) return;
  const RemovalResult done = removal_.get();
  for (const fs::path& removed : done.removed) ranks_.console.debug("removed {}", removed.string());
  for (const checkpoint::Problem& problem : done.problems)
    ranks_.console.warn("cannot remove {}: {}", problem.where, problem.what);
}

void confirm_ownership(const RunDirectory& run, const Generation& own, const RunLock* alive) {
  if (alive != nullptr) alive->check_still_held();
  if (run.is_superseded(own)) throw_superseded(run, own);
  run.withdraw_abandoned(own);
}

void throw_superseded(const RunDirectory& run, const Generation& own) {
  throw comm::SharedError(ErrorKind::environment,
                          fmt::format("another start has taken over {} from generation {}: this one stops",
                                      run.path().string(), own.number),
                          "the other start resumes from the newest checkpoint that it found");
}

}  // namespace dt::run
