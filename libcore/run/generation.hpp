#pragma once
// Generations, which are the starts of a run, and the lock of the start that holds the run. See
// FORMATS.md.

#include <cstdint>
#include <string>

#include "base/io/files.hpp"
#include "checkpoint/checkpoint_name.hpp"

namespace dt::run {

class RunDirectory;

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

/// Held while a job trains in a run directory: a lock on its generation's lock file. A start
/// refuses if a live process holds a generation, unless the holder is an earlier life of the same
/// Slurm job (its SLURM_RESTART_COUNT is lower). The lineage ignores late checkpoints of such a
/// holder. Of several simultaneous starts at most one continues. After locking its own file, a
/// start withdraws its claim and refuses if a higher number has been claimed or a lower one is
/// held. On file systems without locks is_supported() is false. Two starts may then both run, and the
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

}  // namespace dt::run
