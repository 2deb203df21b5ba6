#pragma once
// A run's folder: its generations, their lineage, and the checkpoints on it. See FORMATS.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"

namespace dt::run {

/// One start of a run: generations/0003.json.
struct Generation {
  std::int64_t number = 0;
  std::string
      continues;  // name of the checkpoint it started from; "" from step 0; for one outside the run, its path
  std::int64_t continues_step = 0;
  std::string started;  // UTC
  std::string host;
  std::int64_t process = 0;
  std::string folder;     // the run's, absolute, when it started; "" of an older dt
  std::string slurm_job;  // "" outside Slurm
  std::string slurm_restarts;
  /// Whether Slurm has started the same job again since: its former life may live on, on a node it lost.
  bool is_earlier_life_of(const Generation& other) const;
};

/// Which start that is, for people: "generation 3, process 17 on n2, Slurm job 5, since 2026-…".
std::string describe(const Generation& generation);

/// In the order of a lineage: by generation, then by step.
bool is_newer(const checkpoint::CheckpointEntry& a, const checkpoint::CheckpointEntry& b);

/// "" or why no start goes on from a checkpoint of its own accord, whether or not it is whole: failed loads
/// have set it aside, or its weights gave a loss that is not finite. Cheap.
std::string why_shunned(const fs::path& checkpoint);

/// "" where why_shunned() finds nothing, the manifest is readable and each file is there with its size; else
/// why a resume passes it over. Errors: environment, where that cannot be found out.
std::string why_incomplete(const fs::path& checkpoint);

/// What a removal has done: an entry that cannot be removed does not keep the others from going.
struct Removal {
  std::vector<fs::path> removed;              // under the names that they had
  std::vector<checkpoint::Problem> problems;  // what stays, and why
};

class RunDirectory {
 public:
  explicit RunDirectory(fs::path path);
  const fs::path& path() const { return path_; }
  fs::path checkpoints_path() const { return path_ / "checkpoints"; }
  fs::path generations_path() const { return path_ / "generations"; }
  /// Files that say what the data's tokens mean, if the run has any: each checkpoint takes them along.
  fs::path tokenizer_path() const { return path_ / "tokenizer"; }
  /// Of a generation's file; it exists once the number is claimed.
  fs::path generation_path(std::int64_t number) const;
  /// Returns the file that a generation's start holds a lock on while it lives: beside the generation's, but
  /// open to those alone who may write to the folder, as whoever can open a file can hold it. An older dt
  /// held the generation's own.
  fs::path generation_lock_path(std::int64_t number) const;

  /// Makes the folder and its parts; Error{environment} where it cannot be written.
  void create() const;
  /// Throws Error{environment} where another user took the folder's name, or a part's, in a folder where
  /// everybody may write; see refuse_strangers_folder(). Call it before reading what is there.
  void refuse_strangers() const;
  /// Returns "" or who beside this user may write to the folder or its parts, or may rename the folder.
  std::string other_writers() const;
  /// Error{input} where it is no folder, or holds neither checkpoints nor generations.
  void require() const;

  /// Sorted by number, without withdrawn claims. Error{input}: a file of another format.
  std::vector<Generation> generations() const;
  /// Numbers of the generations that earlier lives of this Slurm job claimed: it has been started again
  /// since.
  std::vector<std::int64_t> earlier_lives() const;
  /// Folders under a checkpoint's final name, sorted by step, then generation. All were complete when they
  /// got it.
  std::vector<checkpoint::CheckpointEntry> checkpoints() const;
  /// Those on the newest generation's lineage, newest first: its own, then its parent's up to the step where
  /// it left off, ... What an older generation committed after a newer one left it is not among them. A
  /// generation whose file is lost is known by the manifests of its checkpoints.
  std::vector<checkpoint::CheckpointEntry> lineage() const { return on_lineage(checkpoints()); }
  /// The same of other entries, such as checkpoints that lie elsewhere.
  std::vector<checkpoint::CheckpointEntry> on_lineage(std::vector<checkpoint::CheckpointEntry> entries) const;
  /// The newest of the lineage that why_incomplete() finds nothing wrong with; `skipped` is given the newer
  /// ones.
  std::optional<checkpoint::CheckpointEntry> newest_complete(
      std::vector<checkpoint::Problem>* skipped = nullptr) const;

  /// Claims the next number by creating its file exclusively; retries when another start took it.
  Generation claim(const std::string& continues, std::int64_t continues_step) const;
  /// Whether a newer generation has taken the run over: claimed it, while `own` does not hold its LiveRun (or
  /// is an earlier life of the same job). Who holds it need not give way: a newer claim is then about to be
  /// withdrawn, or its start has died. Cheap: asks for the files that would be there.
  bool is_superseded(const Generation& own) const;
  /// By who holds the run, before it commits: withdraws newer claims whose starts died before they had given
  /// way. Nothing is done without file locks. Errors: environment.
  void withdraw_abandoned(const Generation& own) const;
  /// Gives up a claim under which nothing was written: its file becomes empty, on disk, its number stays
  /// taken.
  void withdraw(const Generation& own) const;

  /// Removes these checkpoints of the run, of which those count that were still there; also what a crash left
  /// of earlier removals. One leaves its final name first, then, once that is on disk, its files go: a crash
  /// at any time leaves every checkpoint whole or without its name. One whose files cannot all be removed
  /// counts as removed; the rest of it is a problem. Errors: environment, where the folder cannot be listed
  /// or synced.
  Removal remove(std::span<const fs::path> checkpoints) const;

  /// Removes checkpoints of the lineage beyond the newest `keep_last` complete ones (none: keep all; at least
  /// 1), except those whose step is a multiple of `keep_every` (0: none), as remove() does. Does nothing once
  /// a generation newer than `own_generation` is claimed: the run is no longer the caller's. Errors:
  /// environment.
  Removal prune(std::int64_t own_generation, std::optional<std::int64_t> keep_last,
                std::int64_t keep_every) const;

  /// Gives checkpoints back their names of which an overwriting died half-way, where the file system cannot
  /// exchange names (see AtomicDirectory). Errors: environment.
  void restore_replaced() const;

  /// Removes the hidden folders of checkpoints whose writers were killed; also records about checkpoints that
  /// are gone. Only while holding LiveRun and before the first write: whoever still writes then is a zombie.
  /// Errors: environment, where the folder cannot be listed or synced.
  Removal remove_leftovers() const;

 private:
  std::optional<Generation> find_generation(std::int64_t number, const std::vector<Generation>& claimed,
                                            const std::vector<checkpoint::CheckpointEntry>& entries) const;
  fs::path path_;
};

/// Held while a job trains in a run directory: a lock on its newest generation's file. A start that finds it
/// held by a live process refuses (Error{environment}, naming host, process and job), unless the holder is an
/// earlier life of the same Slurm job (its SLURM_RESTART_COUNT is lower), whose late checkpoints the lineage
/// ignores. Of several starts at once at most one goes on: after locking its own file, a start withdraws its
/// claim and refuses where a higher number has been claimed or a lower one is held. File systems without
/// locks are let pass: supported() is false, two starts may then both run, and the lineage follows the higher
/// number.
class LiveRun {
 public:
  /// Refuses where another start is alive. Call before claim().
  static void refuse_if_alive(const RunDirectory& run);
  LiveRun(const RunDirectory& run, const Generation& own);
  bool supported() const { return supported_; }

  /// Before each save: opens the generation's file by its path again (a network file system answers stat(2)
  /// from memory) and compares it with the one that is held. Error{environment}: the path leads to another
  /// file, which is not this start's claim, or which nobody holds: the run's folder has been moved away, and
  /// perhaps another put in its place. A file server may give the file that is held another number; then
  /// nothing is wrong.
  void check_in_place() const;

 private:
  void hold(const RunDirectory& run, const Generation& own);

  FileLock lock_;
  FileLock older_lock_;  // on the generation's file, where starts of an older dt look for it
  fs::path path_;        // of the generation's file
  fs::path lock_path_;   // of the file that is locked
  File file_;            // as it was when the run was taken over
  std::string claim_;    // its content
  bool supported_ = true;
};

}  // namespace dt::run
