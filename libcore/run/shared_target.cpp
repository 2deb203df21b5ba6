#include "run/shared_target.hpp"

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "run/tokenizer_part.hpp"

namespace dt::run {

fs::path SharedTarget::begin(const checkpoint::Manifest& header) {
  header_ = header;
  comm::at_first(ranks_,
                 [&] { unfinished_.emplace(run_.checkpoints_path(), header.state.step, own_.number); });
  return comm::broadcast_text(ranks_.world, unfinished_ ? unfinished_->path().string() : std::string());
}

void SharedTarget::commit(SavedCheckpoint& saved, int num_parts) {
  confirm_ownership(run_, own_);
  saved.path =
      unfinished_->commit(header_, add_tokenizer_part(run_, unfinished_->path(), header_, num_parts));
  saved.bytes = folder_bytes(saved.path);
}

void SharedTarget::prune(SavedCheckpoint& saved) {
  saved.removed = run_.prune(own_.number, retention_.keep_last, retention_.keep_every);
}

void confirm_ownership(const RunDirectory& run, const Generation& own) {
  if (run.is_superseded(own)) give_way(run, own);
  run.withdraw_abandoned(own);
}

void give_way(const RunDirectory& run, const Generation& own) {
  throw comm::SharedError(ErrorKind::environment,
                          fmt::format("another start has taken {} over from generation {}: this one ends",
                                      run.path().string(), own.number),
                          "the other goes on from the newest checkpoint that it found");
}

}  // namespace dt::run
