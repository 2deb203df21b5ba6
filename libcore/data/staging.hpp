#pragma once
// Copies of datasets on storage of a node's own.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/files.hpp"

namespace dt::data {

/// A folder held by a lock (flock) while the object lives; several may hold it for use.
class FolderLock {
 public:
  enum class Kind { use, alone };
  FolderLock() = default;
  /// Nothing where the folder is not there, is a link or another user's, or is held in a way that does not
  /// allow it.
  static std::optional<FolderLock> take(const fs::path& folder, Kind kind);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();
  /// Marks it as used now.
  void touch() const;

 private:
  int descriptor_ = -1;
};

/// A copy that may be read. No process of dt removes it while this object lives.
struct StagedDataset {
  fs::path folder;
  FolderLock in_use;
};

struct StageRequest {
  fs::path storage;                          // that holds the copies; made where it is missing
  std::optional<std::uint64_t> limit_bytes;  // of all copies that the user has in it
  std::function<bool()> stop;                // asked now and then, also while another process copies
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  /// How long another process may copy without getting on before this gives up waiting for it.
  std::chrono::milliseconds patience = std::chrono::minutes(5);
};

/// Returns the dataset's copy in the user's own folder of `storage`, "dt-staged-UID" of mode 0700. Makes it
/// now where it is missing or not whole: under a temporary name, verified as dt-shard-data --verify does,
/// then renamed. Where there is no room, copies that nobody uses go, the least recently used first, and only
/// if that makes enough. One process of a node copies at a time, others that want to wait. Left-overs of
/// crashes are removed before a copy is made. A copy belongs to its original as that is now: its dataset.json
/// is the original's byte for byte, and its name tells each shard's size and time of change. Other users'
/// folders, files and links in `storage` are neither read nor changed. Errors: input (the original cannot be
/// read, or does not verify), environment (no room, no storage, something of another user or of another kind
/// in the way, no progress of the process that copies, or `stop` said so); what was begun is removed then.
StagedDataset stage_dataset(const fs::path& dataset, const StageRequest& request);

/// Has the next stage_dataset() make the copy anew. Returns whether this call did it, of several.
bool discard_copy(const fs::path& copy);

}  // namespace dt::data
