#pragma once
// Writing a checkpoint's state anew, in other pieces.

#include <functional>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"

namespace dt::checkpoint {

/// The destination and the layout of the new checkpoint.
struct ReshardOptions {
  fs::path out;  // the new checkpoint's folder
  bool overwrite = false;
  model::Layout mesh;
  int num_writers = 1;
  /// Returns the pieces of a writer. All writers together must cover each element of each tensor of
  /// the source once, in its type.
  std::function<std::vector<PieceSpec>(int writer)> pieces;
  std::size_t max_files_with_list = default_max_files_with_list;  // as CommitOptions has it
};

/// Writes the state of `source` into `how.out`, one file per writer. Verifies every block read. Blocks.
/// Memory: one block, the reader's cache, the pieces of up to 1,536 writers, and 48 bytes for each piece. The
/// manifest is the source's except for mesh, files, pieces, time and dt's version. Its parent is kept only if
/// `out` is beside the source; elsewhere the name would mean another checkpoint, or none. `written` receives
/// the number of payload bytes as they are written.
/// Errors: input for a name that is in use, or that names another step or generation; as Reader::read();
/// environment.
/// After a crash: the folder is complete under its name or absent; a hidden folder may remain.
void reshard(const Reader& source, const ReshardOptions& how,
             const std::function<void(std::uint64_t)>& written = {});

}  // namespace dt::checkpoint
