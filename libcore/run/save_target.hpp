#pragma once
// Where a save goes, and what makes it a checkpoint there.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::run {

namespace fs = std::filesystem;

/// What all ranks learn of a save that has ended well; path and size on rank 0 alone.
struct SavedCheckpoint {
  fs::path path;
  std::uint64_t bytes = 0;
  std::int64_t step = 0;
  double stall_s = 0;        // that this rank's training stood still
  double write_s = 0;        // from its beginning to the commit
  int num_nodes = 0;         // of a local checkpoint: that hold a share; else 0
  int num_without_copy = 0;  // ranks whose part of a local checkpoint has no copy on another node
};

/// Of all files in a folder.
std::uint64_t folder_bytes(const fs::path& folder);

/// The Saver calls, for each save: begin(); write_part() into the folder and then finish_part(), on a thread
/// of each rank; where all have returned, commit() on a thread of each rank that is_committer(); complete();
/// end(). It may stop after any of them. What a save makes superfluous stays until its weights are proven.
class SaveTarget {
 public:
  virtual ~SaveTarget() = default;
  /// Called by all ranks together. Returns the folder that this rank writes its part into. Errors, on all
  /// ranks: environment.
  virtual fs::path begin(const checkpoint::Manifest& header) = 0;
  /// What is left to do for this rank's part once it is on disk. Blocks; `check`, called now and then, throws
  /// where the save has been given up. Errors: environment.
  virtual void finish_part(const std::function<void()>& check) = 0;
  /// How many ranks commit, and whether this one does.
  virtual int num_committers() const = 0;
  virtual bool is_committer() const = 0;
  /// Of so many parts. Blocks. Errors: environment.
  virtual void commit(SavedCheckpoint& saved, int num_parts) = 0;
  /// Called by all ranks together, once all have committed.
  virtual void complete([[maybe_unused]] SavedCheckpoint& saved) {}
  /// On all ranks, each for itself: the save is announced, or has failed.
  virtual void end(bool is_announced) = 0;
  /// On all ranks, each for itself: the weights of `step` have given a finite loss, and so have all before.
  /// Where what was saved last is of such a step, starts to remove what it makes superfluous. What cannot be
  /// removed is warned of at the next begin() or finish_removal().
  virtual void tell_proven([[maybe_unused]] std::int64_t step) {}
  /// Called by all ranks together: waits for a removal under way, and warns of what stays.
  virtual void finish_removal() {}
};

}  // namespace dt::run
