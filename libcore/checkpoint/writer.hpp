#pragma once
// Writing a checkpoint: whole under its final name, or not there. One process uses write_checkpoint(). Of
// several, which communicate by means of their own,
//
//   one constructs   UnfinishedCheckpoint unfinished(folder, step, generation) and tells all its path();
//   each calls       write_part(path, header, writer, pieces), and all learn whether every one returned;
//   where all did,   the first calls unfinished.commit(header, num_writers); else it destroys `unfinished`.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/shared_folder.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

/// A piece in memory.
struct SourcePiece {
  std::string tensor;
  std::string kind;
  Piece piece;
  Tensor data;  // piece.numel() elements
};

/// A piece whose elements come while it is written.
struct PieceSpec {
  std::string tensor;
  std::string kind;
  Piece piece;
  DType dtype = DType::f32;
};

/// Bytes [begin, begin + count) of the payload of the piece with that index; they stay until the next call.
/// Asked for block by block (digest_block_bytes), in order, each once.
using PayloadSource =
    std::function<std::span<const std::byte>(std::size_t index, std::uint64_t begin, std::size_t count)>;

/// A checkpoint that writers are filling, under a hidden temporary name. Only the process that will commit it
/// makes one. A crash leaves the hidden folder, which RunDirectory::remove_leftovers() removes.
class UnfinishedCheckpoint {
 public:
  /// Makes the temporary folder in `folder`. Errors: environment; input where the final name exists already.
  UnfinishedCheckpoint(const fs::path& folder, std::int64_t step, std::int64_t generation);
  /// The same under any name; with `overwrite` commit() replaces what has it then.
  static UnfinishedCheckpoint at(const fs::path& final_path, std::int64_t step, std::int64_t generation,
                                 bool overwrite);
  /// The hidden folder, for write_part(); where `folder` was relative, relative to the same.
  const fs::path& path() const { return directory_.path(); }

  /// Composes the manifest from `header` (its files and pieces are filled in here, in the order of writers;
  /// the time and dt's version where they are empty) and from the parts of writers 0 … num_writers−1, which
  /// must all have returned from write_part(); removes the part files; syncs files and folder, renames it to
  /// its final name, syncs the parent. Blocks. Returns the final path. A crash leaves the whole checkpoint or
  /// the hidden folder. Errors: environment, naming the file: a part that is missing (after `patience_s`:
  /// another host may have written it), damaged, or of another step, generation or writer; a file that it
  /// names missing or of another size; a full disk, …; input where the final name exists by now. After an
  /// error nothing is under the final name (all of it where only the last sync failed), and only destroying
  /// is left to do.
  fs::path commit(Manifest header, int num_writers, double patience_s = default_patience_s);

  /// Destroying one that was not committed removes the hidden folder. Writers should have ended by then: what
  /// they still write may keep the folder from going, and it is left as a crash would leave it.
  ~UnfinishedCheckpoint() = default;

 private:
  UnfinishedCheckpoint(std::int64_t step, std::int64_t generation, fs::path final_path, bool overwrite);
  std::int64_t step_;
  std::int64_t generation_;
  fs::path final_path_;
  bool overwrite_;
  AtomicDirectory directory_;
};

/// What each writer does, on any host: writes `pieces` into rank-NNNNN.h5 and what it wrote into
/// part-NNNNN.json, NNNNN being `writer`, both in `unfinished`, and syncs both and the folder. Of `header`,
/// step and generation are used. A writer whose pieces hold no element writes its part alone. Blocks; several
/// threads of a process may write parts at once. `written` is told payload bytes as they go. Errors:
/// environment: a full disk, …; a folder that this host does not see within `patience_s`. A crash leaves
/// files in the hidden folder, and no part file that commit() would take unless all was synced.
void write_part(const fs::path& unfinished, const Manifest& header, int writer,
                std::span<const SourcePiece> pieces, const std::function<void(std::uint64_t)>& written = {},
                double patience_s = default_patience_s);

/// The same for pieces that `source` brings, in memory of the caller's alone.
void write_part(const fs::path& unfinished, const Manifest& header, int writer,
                std::span<const PieceSpec> pieces, const PayloadSource& source,
                const std::function<void(std::uint64_t)>& written = {},
                double patience_s = default_patience_s);

/// All of it by one writer: `pieces` into one HDF5 file (none where they hold no element) and the manifest,
/// in `folder`/checkpoint_name(...). Blocks. Returns the final path. A crash leaves the whole checkpoint or a
/// hidden temporary folder. Errors: environment (full disk, ...); input where the name exists already.
/// `written` is told bytes as they go.
fs::path write_checkpoint(const fs::path& folder, Manifest manifest, std::span<const SourcePiece> pieces,
                          const std::function<void(std::uint64_t)>& written = {});

}  // namespace dt::checkpoint
