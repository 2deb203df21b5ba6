#pragma once
// A run's folder: its generations, their lineage, and the checkpoints on it. Also the lock of the start that
// holds the run, and the rule by which checkpoints are kept. See FORMATS.md.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"

namespace dt::run {

/// One start of a run: generations/0003.json.
struct Generation {
  std::int64_t number = 0;
  std::string
      continues;  // name of the checkpoint it started from; its path if outside the run; "" for step 0
  std::int64_t continues_step = 0;
  std::string started;  // UTC
  std::string host;
  std::int64_t process = 0;
  std::string folder;     // run's absolute folder at the start; "" from an older dt
  std::string slurm_job;  // "" outside Slurm
  std::string slurm_restarts;
  /// Returns whether `other` is a later start of the same Slurm job. Processes of the earlier life
  /// may still run on a node that Slurm lost.
  bool is_earlier_life_of(const Generation& other) const;
};

/// Describes a start for people: "generation 3, process 17 on n2, Slurm job 5, since 2026-…".
std::string describe(const Generation& generation);

/// Returns whether `a` comes after `b` in the order of a lineage: by generation, then by step.
bool is_newer(const checkpoint::CheckpointEntry& a, const checkpoint::CheckpointEntry& b);

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

/// Held while a job trains in a run directory: a lock on its generation's lock file. A start
/// refuses if a live process holds a generation, unless the holder is an earlier life of the same
/// Slurm job (its SLURM_RESTART_COUNT is lower). The lineage ignores late checkpoints of such a
/// holder. Of several simultaneous starts at most one continues. After locking its own file, a
/// start withdraws its claim and refuses if a higher number has been claimed or a lower one is
/// held. On file systems without locks supported() is false. Two starts may then both run, and the
/// lineage follows the higher number.
/// Errors: environment, naming host, process and job of the live holder.
class RunLock {
 public:
  /// Refuses if another start is alive. Call it before claim().
  static void require_not_held(const RunDirectory& run);
  RunLock(const RunDirectory& run, const Generation& own);
  bool is_supported() const { return is_supported_; }

  /// Checks, before each save, that the path still leads to the generation's file that is held.
  /// Opens the file by its path, since a network file system answers stat(2) from memory. If a file
  /// server only gives the held file another inode number, the check passes.
  /// Errors: environment if the path leads to no file, or to another file that is not this start's
  /// claim or that no process holds. The run's folder has then been moved away, and perhaps another
  /// put in its place.
  void check_still_held() const;

 private:
  void acquire(const RunDirectory& run, const Generation& own);

  FileLock lock_;
  FileLock older_lock_;  // on the generation's file, for starts of an older dt
  fs::path path_;        // generation's file
  fs::path lock_path_;   // locked file
  File file_;            // file at the time the run was taken over
  std::string claim_;    // content of file_
  bool is_supported_ = true;
};

/// The rule by which decide_prune() keeps checkpoints of a run.
struct PruneRule {
  std::int64_t keep_last = 1;   // number of newest sound checkpoints to keep, at least 1
  std::int64_t keep_every = 0;  // also keeps steps that are multiples of this; 0: none
};

struct PruneDecision {
  checkpoint::CheckpointEntry entry;
  bool keep = true;
  std::string why;  // reason for keeping
};

/// Returns one decision for each of `lineage` (newest first), in its order. `why_unsound` returns
/// what is wrong with a checkpoint, or "". It is called newest first, until keep_last sound
/// checkpoints are found. Older ones are kept only for `keep_every`. An unsound checkpoint does not
/// count. It is kept if it is newer than the last of the sound ones, since it may be repaired.
std::vector<PruneDecision> decide_prune(
    std::span<const checkpoint::CheckpointEntry> lineage, const PruneRule& rule,
    const std::function<std::string(const checkpoint::CheckpointEntry&)>& why_unsound);

}  // namespace dt::run
