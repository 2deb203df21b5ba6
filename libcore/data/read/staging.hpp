#pragma once
// Copies of datasets on node-local storage.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/io/files.hpp"

namespace dt::data {

/// A lock (flock) on a folder, held while the object lives. Several may hold it for use.
class FolderLock {
 public:
  enum class Kind { use, alone };
  FolderLock() = default;
  /// Takes the lock. Returns none if the folder is missing, is a link or another user's, or is held
  /// in a conflicting way.
  static std::optional<FolderLock> acquire(const fs::path& folder, Kind kind);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();
  /// Marks the folder as used now.
  void touch() const;

 private:
  int descriptor_ = -1;
};

/// A copy to read. No process of dt removes it while the object lives.
struct StagedDataset {
  fs::path folder;
  FolderLock in_use;
};

struct StageRequest {
  fs::path storage;                          // folder of the copies; made if it is missing
  std::optional<std::uint64_t> limit_bytes;  // limit on all copies of the user in it
  std::function<bool()> stop;  // called repeatedly, also while another process copies; true stops
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  /// Time without progress after which another process's copying is no longer waited for.
  std::chrono::milliseconds patience = std::chrono::minutes(5);
};

/// Returns the dataset's copy in the user's own folder of `storage`, "dt-staged-UID" of mode 0700.
/// If the copy is missing or incomplete, makes it under a temporary name, verifies it as
/// dt-shard-data --verify does, and renames it. If space is short, removes copies not in use, the
/// least recently used first, but only if that frees enough. One process of a node copies at a
/// time; others wait. Removes leftovers of crashes before it makes a copy.
///
/// A copy belongs to its original in its present state. Its dataset.json equals the original's byte
/// for byte, and its name encodes each shard's size and time of change. Other users' folders, files
/// and links in `storage` are neither read nor changed.
/// Errors: input if the original cannot be read or does not verify. Environment if there is no
/// space or storage, or an entry of another user or kind is in the way. Environment, too, if the
/// copying process makes no progress, or `stop` returned true. The call then removes an incomplete
/// copy.
StagedDataset stage_dataset(const fs::path& dataset, const StageRequest& request);

/// Makes the next stage_dataset() copy the dataset again. Of several calls, only the one that did
/// so returns true.
bool discard_copy(const fs::path& copy);

}  // namespace dt::data
