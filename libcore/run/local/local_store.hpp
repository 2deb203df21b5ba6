#pragma once
// Local checkpoints: a run's state on storage that each node has of its own. Each node holds a
// shard, the files of some of the checkpoint's writers. Shards that together hold the files of all
// writers form a complete checkpoint. See FORMATS.md.

#include <optional>
#include <string>
#include <vector>

#include "base/io/secret.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "run/local/shard_codes.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

/// One node's shard of a local checkpoint.
struct LocalShard {
  fs::path path;
  std::string header_text;      // text as stored in the shard
  checkpoint::Manifest header;  // the checkpoint's manifest without files and pieces
  std::vector<int> writers;  // writers whose manifest matches its code and whose file has its size, ascending
};

/// Returns the number of writers of a checkpoint with this header.
int num_writers(const checkpoint::Manifest& header);

/// One run's folder on this node's storage, private to this user. Only the first rank of a node
/// commits, removes and lists shards.
/// Errors: environment, from every method that creates or lists, if the name belongs to another
/// user's folder or to no folder. Environment, too, if others could exchange the folder (see
/// make_private_storage()). The store then uses nothing in it.
class LocalStore {
 public:
  /// `folder` is the node's, for all users and runs. `run` must outlive the store. Each host has
  /// its own folder within `folder`, so nodes may share storage under the same name. `key` is the
  /// run's key (see shard_codes.hpp); without it no shard counts as this run's.
  LocalStore(const fs::path& folder, const RunDirectory& run, const std::string& host,
             std::optional<Secret> key);
  const fs::path& path() const { return path_; }

  /// Creates the folder and its ancestors. Removes what killed saves left, and shards of another
  /// run that had the same path. Returns "", or the first of these that cannot be removed and why,
  /// or which other users could exchange shards by this user's choice. Call it only while holding
  /// RunLock, before the first save.
  /// Errors: environment if the folder cannot be created.
  std::string open() const;

  /// Creates the folder on a new node. A start calls it before it chooses a checkpoint: storage
  /// that is unusable at the moment must not pass for empty storage.
  /// Errors: environment, also if the folder cannot be read and written.
  void check_usable() const;

  /// Returns the folder that the node's writers fill, as an unfinished checkpoint. begin() creates
  /// it anew; commit() renames it.
  fs::path unfinished_path(std::int64_t step, std::int64_t generation) const;
  void begin(std::int64_t step, std::int64_t generation) const;
  /// Gives the unfinished folder, which its writers have synced, its final name. Blocks. `claim` is
  /// the text of the generation's file. It identifies the shard as this run's. Writers whose files are
  /// missing at the call are not in the shard.
  /// Errors: environment.
  /// After a crash: the complete shard or the unfinished one remains.
  fs::path commit(checkpoint::Manifest header, const std::string& claim) const;
  void discard(std::int64_t step, std::int64_t generation) const;

  /// Returns the shards of this run in all hosts' folders. Shards that are unreadable, damaged or
  /// without the run's code are left out and reported in `problems`.
  std::vector<LocalShard> shards(std::vector<checkpoint::Problem>& problems) const;
  /// Returns the folders of one checkpoint's shards.
  std::vector<fs::path> shard_paths(std::int64_t step, std::int64_t generation) const;
  /// Copies the file of `writer` from a shard into an unfinished checkpoint, checks each byte of
  /// the copy against its digest, and syncs it. Returns the description, and copies it if `keeps_manifest`.
  /// Errors: input if the shard does not hold them whole, or this host cannot read them; the copy
  /// is then removed. Environment if the copy cannot be written.
  checkpoint::WriterManifest copy_writer_files(const fs::path& shard, const checkpoint::Manifest& header,
                                               int writer, const fs::path& unfinished,
                                               bool keeps_manifest = true) const;

  /// Removes the run's shards of this and older generations that are older than `newest`, except
  /// step `kept` of this generation. Shards of a newer generation stay, since the caller may be a
  /// zombie. Continues after a failure.
  /// Errors: environment, after all other shards are removed.
  void remove_older(std::int64_t own_generation, const checkpoint::CheckpointEntry& newest,
                    std::optional<std::int64_t> kept = {}) const;
  /// Remove the shards older than `newest`, or all shards, and then the folder if it is empty.
  void clear(std::int64_t own_generation, const checkpoint::CheckpointEntry& newest) const;
  void clear(std::int64_t own_generation) const;

 private:
  enum class Origin { this_run, another_run, unknown };
  Origin origin_of(const fs::path& shard, std::int64_t generation) const;
  /// Returns all shards with their parsed names.
  std::vector<checkpoint::CheckpointEntry> all_shards() const;
  void create() const;
  /// Returns whether the run has a folder.
  /// Errors: environment if it, or the user's folder, is not this user's.
  bool exists() const;
  ShardCodes codes(std::int64_t step, std::int64_t generation) const;
  LocalShard load(const checkpoint::CheckpointEntry& name) const;

  const RunDirectory& run_;
  std::optional<Secret> key_;
  fs::path user_path_;  // parent of all runs
  fs::path run_path_;   // parent of all hosts
  fs::path path_;
};

}  // namespace dt::run
