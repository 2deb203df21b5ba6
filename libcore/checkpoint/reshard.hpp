#pragma once
// A checkpoint's state written anew, in other pieces.

#include <functional>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"

namespace dt::checkpoint {

/// Where and as what the state is written.
struct Resharding {
  fs::path out;  // the new checkpoint's folder
  bool overwrite = false;
  model::Layout mesh;
  int num_writers = 1;
  /// What a writer writes. All together each element of each tensor of the source once, in its type.
  std::function<std::vector<PieceSpec>(int writer)> pieces;
};

/// Writes the state of `source` into `how.out`, one file a writer, every block read verified. Memory: a block
/// and what the reader keeps, whatever the size. The manifest is the source's but for mesh, files, pieces,
/// the time and dt's version; its parent is kept only beside the source (elsewhere the name means another
/// checkpoint, or none). The folder is whole under its name or not there; a crash leaves a hidden one.
/// Blocks. Errors: input: a name that is in use, the name of another step or generation, what Reader::read
/// says; environment. `written` is told payload bytes as they go.
void reshard(const Reader& source, const Resharding& how,
             const std::function<void(std::uint64_t)>& written = {});

}  // namespace dt::checkpoint
