#pragma once
// Local checkpoints: what nodes keep of a run's state on storage of their own. Each node holds a share, the
// files of some of the checkpoint's writers; shares that hold those of all together are a whole one. See
// FORMATS.md.

#include <optional>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "run/run_directory.hpp"
#include "run/share_codes.hpp"

namespace dt::run {

/// One node's part of a local checkpoint.
struct LocalShare {
  fs::path path;
  std::string header_text;      // as it lies in the share
  checkpoint::Manifest header;  // the checkpoint's manifest without files and pieces
  std::vector<int>
      writers;  // of whom it holds all, ascending: a part that has its code and a file of its size
};

/// How many wrote a checkpoint with this header.
int num_writers(const checkpoint::Manifest& header);

/// One run's folder on this node's storage, which is this user's alone. The first rank of a node alone
/// commits, removes and looks. Errors of every method that makes or looks: environment, where a folder of
/// this name is another user's, or none, or where others could exchange it (see make_storage()): nothing of
/// it is used.
class LocalStore {
 public:
  /// `folder` is the node's for all users and runs; `run` must outlive it. Each host has a folder of its own
  /// in it, so that nodes may, but need not, have different storage under the same name. `key`: the run's
  /// (see share_codes.hpp); without one no share is this run's.
  LocalStore(const fs::path& folder, const RunDirectory& run, const std::string& host,
             std::optional<Secret> key);
  const fs::path& path() const { return path_; }

  /// Makes the folder and those above it; removes what killed saves left, and shares of another run that had
  /// the same path. Returns "" or what of these cannot be removed, and why, or which other users
  /// the user lets exchange shares.
  /// Only while holding LiveRun and before the first save. Errors: environment, where the folder cannot be
  /// made.
  std::string open() const;

  /// Makes the folder, for a node that is new. A start calls it before it chooses what to go on from: storage
  /// that cannot be read and written at the moment must not pass for storage that holds nothing. Errors:
  /// environment.
  void require() const;

  /// Where the node's writers write, as into any unfinished checkpoint: made anew by begin(), gone after
  /// commit().
  fs::path unfinished_path(std::int64_t step, std::int64_t generation) const;
  void begin(std::int64_t step, std::int64_t generation) const;
  /// Gives what lies in the unfinished folder, synced by its writers, its final name. `claim`: the text of
  /// the generation's file, by which the share is known to be of this run and no other. Blocks. A crash
  /// leaves the whole share or the unfinished one. Errors: environment.
  /// Parts that were not there when it was called are not part of the share.
  fs::path commit(checkpoint::Manifest header, const std::string& claim) const;
  void abandon(std::int64_t step, std::int64_t generation) const;

  /// The shares of this run, of all hosts' folders. What cannot be read, is damaged or has not the run's code
  /// is left out and named in `problems`.
  std::vector<LocalShare> shares(std::vector<checkpoint::Problem>& problems) const;
  /// Where those of one checkpoint are.
  std::vector<fs::path> share_paths(std::int64_t step, std::int64_t generation) const;
  /// Copies what `writer` left in a share into an unfinished checkpoint, checks each byte of the copy against
  /// its digest, and syncs it. Errors: input, where the share does not hold it whole, or this host cannot
  /// read it; nothing of it is left then. environment, where the copy cannot be written.
  void copy_part(const fs::path& share, const checkpoint::Manifest& header, int writer,
                 const fs::path& unfinished) const;

  /// Removes the run's shares of this and older generations that are older than `newest`, but for that of
  /// step `kept` of this generation. Those of a newer generation stay: whoever removes may be a zombie.
  /// Errors: environment, once all are gone that can be removed.
  void remove_older(std::int64_t own_generation, const checkpoint::CheckpointEntry& newest,
                    std::optional<std::int64_t> kept = {}) const;
  /// The same, and the folder where nothing is left in it; what is newer than any checkpoint: all of them.
  void clear(std::int64_t own_generation, const checkpoint::CheckpointEntry& newest) const;
  void clear(std::int64_t own_generation) const;

 private:
  enum class Origin { this_run, another_run, unknown };
  Origin origin_of(const fs::path& share, std::int64_t generation) const;
  /// With their names taken apart.
  std::vector<checkpoint::CheckpointEntry> all_shares() const;
  void make() const;
  /// Returns whether the run has a folder. Errors: environment, where it, or the user's, is not this user's.
  bool is_made() const;
  ShareCodes codes(std::int64_t step, std::int64_t generation) const;
  LocalShare load(const checkpoint::CheckpointEntry& name) const;

  const RunDirectory& run_;
  std::optional<Secret> key_;
  fs::path user_path_;  // of all runs
  fs::path run_path_;   // of all hosts
  fs::path path_;
};

}  // namespace dt::run
