#pragma once
// Writes a whole checkpoint as a single writer.

#include <functional>
#include <span>
#include <utility>

#include "checkpoint/writer.hpp"

namespace dt::checkpoint::test {

/// Writes `pieces` in one HDF5 file (none if they hold no element) and the manifest, in
/// `folder`/checkpoint_name(...). Returns the final path. `written` receives the number of bytes as
/// they are written.
inline fs::path write_checkpoint(const fs::path& folder, Manifest manifest,
                                 std::span<const SourcePiece> pieces,
                                 const std::function<void(std::uint64_t)>& written = {}) {
  CheckpointTransaction unfinished(folder, manifest.state.step, manifest.generation);
  write_shard(unfinished.path(), manifest, 0, pieces, written);
  return unfinished.commit(std::move(manifest), 1);
}

}  // namespace dt::checkpoint::test
