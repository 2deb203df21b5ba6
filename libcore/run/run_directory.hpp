#pragma once
// A run's folder: its generations, their lineage, and the checkpoints on it. See FORMATS.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/paths.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/reader.hpp"
#include "run/generation.hpp"

namespace dt::run {

/// Returns "", or why no start continues from a checkpoint by itself, whether or not it is
/// complete. Either failed loads have set it aside, or its weights gave a non-finite loss. Cheap.
std::string why_excluded(const fs::path& checkpoint);

/// Returns "" if why_excluded() finds nothing, the manifest is readable and each file exists with
/// its size. Otherwise returns why a resume skips the checkpoint.
/// Errors: environment if that cannot be determined.
std::string why_incomplete(const fs::path& checkpoint);

/// The result of a removal. A failure for one entry does not stop the others.
struct RemovalResult {
  std::vector<fs::path> removed;              // under their former names
  std::vector<checkpoint::Problem> problems;  // entries that stay, with the reason
};

class RunDirectory {
 public:
  explicit RunDirectory(fs::path path);
  const fs::path& path() const { return path_; }
  fs::path checkpoints_path() const { return path_ / "checkpoints"; }
  fs::path generations_path() const { return path_ / "generations"; }
  /// Returns the folder of the run's tokenizer files, which each checkpoint copies. It may be
  /// missing.
  fs::path tokenizer_path() const { return path_ / "tokenizer"; }
  /// Returns the path of a generation's file, which exists once the number is claimed.
  fs::path generation_path(std::int64_t number) const;
  /// Returns the file on which a generation's start holds a lock while it lives. It lies beside the
  /// generation's file. Only users that may write to the folder can open it, since any process that
  /// can open a file can hold its lock. An older dt locked the generation's own file.
  fs::path generation_lock_path(std::int64_t number) const;

  /// Creates the folder and its subfolders.
  /// Errors: environment if they cannot be written.
  void create() const;
  /// Checks the run's folder and subfolders with refuse_untrusted_path(). Call it before reading
  /// what is there.
  /// Errors: environment if another user took such a name in a folder to which everybody may write.
  void refuse_strangers() const;
  /// Returns "", or which users beside this one may write to the folder or its subfolders, or
  /// rename the folder.
  std::string other_writers() const;
  /// Checks that this is a run directory.
  /// Errors: input if it is not a folder, or holds neither checkpoints nor generations.
  void require() const;

  /// Returns the generations sorted by number, without withdrawn claims.
  /// Errors: input for a file of another format.
  std::vector<Generation> generations() const;
  /// Returns the numbers of generations that earlier lives of this Slurm job claimed.
  std::vector<std::int64_t> earlier_lives() const;
  /// Returns the folders with a checkpoint's final name, sorted by step, then generation. Each was
  /// complete when it got the name.
  std::vector<checkpoint::CheckpointEntry> checkpoints() const;
  /// Returns the checkpoints on the newest generation's lineage, newest first: its own, then its
  /// parent's up to the step where it continued, and so on. A checkpoint that an older generation
  /// committed after a newer one continued from it is not on the lineage. If a generation's file is
  /// lost, the manifests of its checkpoints replace it.
  std::vector<checkpoint::CheckpointEntry> lineage() const { return on_lineage(checkpoints()); }
  /// The same for other entries, such as checkpoints in other places.
  std::vector<checkpoint::CheckpointEntry> on_lineage(std::vector<checkpoint::CheckpointEntry> entries) const;
  /// Returns the newest checkpoint on the lineage for which why_incomplete() returns "". Appends
  /// the newer ones to `skipped`.
  std::optional<checkpoint::CheckpointEntry> newest_complete(
      std::vector<checkpoint::Problem>* skipped = nullptr) const;

  /// Claims the next number by creating its file exclusively. Retries if another start took it.
  Generation claim(const std::string& continues, std::int64_t continues_step) const;
  /// Returns whether a newer generation has taken the run over. That is so if it claimed while
  /// `own` does not hold its RunLock, or if it is a later life of the same job. A process that
  /// holds the run need not give way: a newer claim is then about to be withdrawn, or its start has
  /// died. Cheap: only tests the files that would be there.
  bool is_superseded(const Generation& own) const;
  /// Withdraws newer claims of starts that died before they gave way. The process that holds the
  /// run calls it before it commits. Does nothing without file locks.
  /// Errors: environment.
  void withdraw_abandoned(const Generation& own) const;
  /// Withdraws a claim under which nothing was written. Its file becomes empty, on disk, and its
  /// number stays taken.
  void withdraw(const Generation& own) const;

  /// Removes these checkpoints of the run, and what a crash left of earlier removals. The result
  /// lists the checkpoints that still existed. Each loses its final name first. Once that is on
  /// disk, the call removes its files. A checkpoint whose files cannot all be removed counts as
  /// removed; the rest of it is a problem.
  /// Errors: environment if the folder cannot be listed or synced.
  /// After a crash: every checkpoint is complete, or lacks its final name.
  RemovalResult remove(std::span<const fs::path> checkpoints) const;

  /// Removes checkpoints on the lineage beyond the newest `keep_last` complete ones (none: keeps
  /// all; at least 1). Keeps steps that are multiples of `keep_every` (0: none). Removes as
  /// remove() does. Does nothing once a generation newer than `own_generation` is claimed, since
  /// the run then no longer belongs to the caller.
  /// Errors: environment.
  RemovalResult prune(std::int64_t own_generation, std::optional<std::int64_t> keep_last,
                      std::int64_t keep_every) const;

  /// Restores names of checkpoints after an overwriting died half-way, on file systems that cannot
  /// exchange names (see AtomicDirectory).
  /// Errors: environment.
  void restore_replaced() const;

  /// Removes the hidden folders of checkpoints whose writers were killed, and records about
  /// checkpoints that are gone. Call it only while holding RunLock, before the first write: any
  /// process that still writes is a zombie.
  /// Errors: environment if the folder cannot be listed or synced.
  RemovalResult remove_leftovers() const;

 private:
  std::optional<Generation> find_generation(std::int64_t number, const std::vector<Generation>& claimed,
                                            const std::vector<checkpoint::CheckpointEntry>& entries) const;
  fs::path path_;
};

}  // namespace dt::run
