#pragma once
// Writes a checkpoint that is complete under its final name, or absent. One process or several,
// which communicate by their own means, follow these steps:
//
//   1. One process constructs CheckpointTransaction unfinished(folder, step, generation).
//      It sends unfinished.path() to all.
//   2. Each calls write_shard(path, header, writer, pieces). All learn whether every call returned.
//   3. If all did, the first process calls unfinished.commit(header, num_writers).
//      Otherwise it destroys `unfinished`.
//
// Many processes that communicate use write_files() instead, and the first process gets what all calls
// returned. It then commits without opening a file of each writer.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/io/atomic_files.hpp"
#include "base/io/paths.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/piece_file.hpp"
#include "checkpoint/written_pieces.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

/// A piece in memory.
struct SourcePiece {
  std::string tensor;
  std::string kind;
  Piece piece;
  Tensor data;  // piece.numel() elements
};

/// Returns bytes [begin, begin + count) of the payload of piece number `index`, valid until the
/// next call. The writer asks for each block (digest_block_bytes) once, in order.
using PayloadSource =
    std::function<std::span<const std::byte>(std::size_t index, std::uint64_t begin, std::size_t count)>;

struct CommitOptions {
  /// Limit of the wait for a writer's manifest or file, which another host may have written.
  double timeout_s = default_visibility_timeout_s;
  /// The most files of which the manifest lists the pieces (version 1). For more it names an index (version
  /// 2).
  std::size_t max_files_with_list = default_max_files_with_list;
  /// Files without pieces that the folder holds, synced: they follow those of the writers.
  std::vector<StoredFile> other_files = {};
};

/// A checkpoint that writers are filling, under a hidden temporary name. Only the committing
/// process constructs one.
/// After a crash: the hidden folder remains; RunDirectory::remove_leftovers() removes it.
class CheckpointTransaction {
 public:
  /// Creates the temporary folder in `folder`.
  /// Errors: environment; input if the final name exists.
  CheckpointTransaction(const fs::path& folder, std::int64_t step, std::int64_t generation);
  /// Creates one with any final name. With `overwrite` commit() replaces a folder of that name.
  static CheckpointTransaction at(const fs::path& final_path, std::int64_t step, std::int64_t generation,
                                  bool overwrite);
  /// Returns the hidden folder, for write_shard(). The path is relative if `folder` was relative.
  const fs::path& path() const { return directory_.path(); }

  /// Commits the checkpoint and returns its final path. Blocks. Composes the manifest from `header`
  /// and the manifests of writers 0 … num_writers−1, which must all have returned from write_shard().
  /// Fills in files and pieces of `header`, in the order of writers, and time and dt's version if
  /// empty. Then removes the writers' manifests, syncs files and folder, renames the folder to its final
  /// name and syncs the parent.
  /// Errors: environment, naming the file, if a writer's manifest is missing, damaged, or of another step,
  /// generation or writer. Environment, too, if a file that a manifest names is missing or of another
  /// size, or if writing fails (a full disk). Input if the final name exists by now. After an error
  /// the object can only be destroyed. The final name then does not exist, unless only the last
  /// sync failed: in that case the checkpoint is complete.
  /// After a crash: the complete checkpoint or the hidden folder remains.
  fs::path commit(Manifest header, int num_writers, const CommitOptions& options = {});
  /// Commits the files of which write_files() returned the descriptions, one for each writer.
  fs::path commit(Manifest header, const WrittenPieces& written, const CommitOptions& options = {});

  /// Removes the hidden folder if it was not committed. Writers should have ended by then. If they
  /// still write, the folder may not be removable, and stays as after a crash.
  ~CheckpointTransaction() = default;

 private:
  CheckpointTransaction(std::int64_t step, std::int64_t generation, fs::path final_path, bool overwrite);
  void check_header(const Manifest& header) const;
  fs::path finish(Manifest header, const WrittenPieces& written, const CommitOptions& options);
  std::int64_t step_;
  std::int64_t generation_;
  fs::path final_path_;
  bool overwrite_;
  AtomicDirectory directory_;
};

/// Writes one writer's file, on any host: `pieces` into rank-NNNNN.h5 in `unfinished`. NNNNN is `writer`.
/// Syncs the file. Blocks. Uses step and generation of `header`. A writer whose pieces hold no element writes
/// none. `written` receives the number of payload bytes as they are written.
/// Errors: environment if writing fails (a full disk), or this host does not see the folder within
/// `timeout_s`.
/// Thread safety: several threads of a process may write files at once.
/// After a crash: files remain in the hidden folder.
WriterManifest write_files(const fs::path& unfinished, const Manifest& header, int writer,
                           std::span<const SourcePiece> pieces,
                           const std::function<void(std::uint64_t)>& written = {},
                           double timeout_s = default_visibility_timeout_s);
/// The same for pieces from `source`, which needs no memory beyond the caller's.
WriterManifest write_files(const fs::path& unfinished, const Manifest& header, int writer,
                           std::span<const PieceSpec> pieces, const PayloadSource& source,
                           const std::function<void(std::uint64_t)>& written = {},
                           double timeout_s = default_visibility_timeout_s);

/// Writes the file that write_files() writes, and its description as part-NNNNN.json. Syncs both and the
/// folder.
/// Errors: as write_files().
/// After a crash: files remain in the hidden folder. commit() accepts no manifest unless everything was
/// synced.
void write_shard(const fs::path& unfinished, const Manifest& header, int writer,
                 std::span<const SourcePiece> pieces, const std::function<void(std::uint64_t)>& written = {},
                 double timeout_s = default_visibility_timeout_s);

}  // namespace dt::checkpoint
