#include "train/save.hpp"

#include <optional>

#include "base/error.hpp"
#include "checkpoint/writer.hpp"
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

}  // namespace

SavedCheckpoint save_checkpoint(const comm::Ranks& ranks, const checkpoint::RunDirectory& run,
                                const checkpoint::Generation& own, const checkpoint::Manifest& header,
                                const parallel::ModelStorage& storage) {
  const int num_writers = ranks.world.size();
  std::optional<checkpoint::UnfinishedCheckpoint> unfinished;  // on rank 0
  at_first(ranks, [&] { unfinished.emplace(run.checkpoints_path(), header.state.step, own.number); });
  const fs::path folder =
      comm::broadcast_text(ranks.world, unfinished ? unfinished->path().string() : std::string());
  comm::together(ranks.world, [&] {
    checkpoint::write_part(folder, header, ranks.world.rank(), share_of_state(storage));
  });
  SavedCheckpoint saved;
  at_first(ranks, [&] {
    if (run.is_superseded(own)) give_way(run, own);
    saved.path = unfinished->commit(header, num_writers);
    saved.bytes = folder_bytes(saved.path);
  });
  return saved;
}

void give_way(const checkpoint::RunDirectory& run, const checkpoint::Generation& own) {
  throw comm::SharedError(ErrorKind::environment,
                          fmt::format("another start has taken {} over from generation {}: this one ends",
                                      run.path().string(), own.number),
                          "the other goes on from the newest checkpoint that it found");
}

}  // namespace dt::train
