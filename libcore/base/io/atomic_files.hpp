#pragma once
// Files and folders that are complete under their final name or absent. Paths in errors appear as the
// caller gave them.

#include <memory>
#include <string_view>

#include "base/io/files.hpp"
#include "base/io/paths.hpp"

namespace dt {

class OwnedFolder;

/// Writes a temporary sibling, syncs it, renames it over `path` and syncs the folder. Writes to a
/// device or a pipe in place.
/// After a crash: the old file or the new one is there.
void write_file_atomically(const fs::path& path, std::string_view content);

/// Creates `path` with all of `content` at once. Returns false if it exists.
/// After a crash: the whole file is there, or none.
bool create_file_exclusively(const fs::path& path, std::string_view content);

/// A folder that appears under its final name only when complete. The constructor creates a hidden
/// temporary sibling, and the caller fills it under path(). commit() syncs it and everything in it,
/// then renames it. The destructor removes a folder that was not committed. All operations are
/// relative to the folder that the path leads to at construction.
///
/// Overwriting exchanges the old folder and the new one. Some network file systems cannot. There
/// the old folder is named ".<name>.replaced" until the new one has the name.
///
/// Errors: environment if another user has put an entry in the way. No call follows or removes it.
/// After a crash: at most the temporary sibling ".<name>.tmp-<host>-<pid>" remains. On file systems
/// that cannot exchange, neither folder may have the name. restore_replaced() gives it back; so
/// does constructing another AtomicDirectory for the same path.
class AtomicDirectory {
 public:
  explicit AtomicDirectory(fs::path final_path);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  const fs::path& path() const;
  const OwnedFolder& folder() const { return *folder_; }
  /// Gives the folder its final name. With `overwrite`, moves an existing folder aside and removes
  /// it.
  /// Errors: input if the final path exists and `overwrite` is false.
  void commit(bool overwrite = false);

  /// Opens or creates the temporary sibling ".<name>.partial". Keeps what an earlier object left
  /// there. The destructor leaves the sibling in place if it was not committed.
  static AtomicDirectory partial(fs::path final_path);
  /// Lets the destructor remove a partial folder after all.
  void discard_on_destruction() { keeps_partial_ = false; }

 private:
  AtomicDirectory(fs::path final_path, bool stays);
  fs::path final_path_;
  File parent_;  // parent of both names
  std::unique_ptr<OwnedFolder> folder_;
  bool keeps_partial_ = false;
  bool committed_ = false;
};

inline constexpr const char* replaced_suffix = ".replaced";
/// Returns the sibling path ".<name>.partial".
fs::path partial_path(const fs::path& final_path);

/// Restores a folder's name after a process died while overwriting the folder: after it moved the
/// old folder aside, before it named the new one. Returns false if there is nothing to do or the
/// folder there is another user's. If the overwriting process is still alive, its commit fails and
/// the old folder stays.
/// Errors: environment.
bool restore_replaced(const fs::path& final_path);

/// A file that appears under its final name only when complete. The caller writes to the File that
/// open() returns.
/// Errors: environment if a device, a pipe or a socket has the name.
class AtomicFile {
 public:
  explicit AtomicFile(fs::path final_path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  /// Returns the temporary file's path, which ends in the final name's extension.
  const fs::path& path() const { return temporary_path_; }
  /// Returns another descriptor of the temporary file, for reading and writing, even if the file
  /// has lost its name by now. All descriptors share one position.
  File open() const;
  void commit(bool overwrite = false);
  /// Commits unless the final path exists; returns false if it does. If several processes commit
  /// the same name at once, one succeeds.
  bool commit_new();

 private:
  void sync();
  fs::path final_path_;
  File parent_;  // parent of both names
  fs::path temporary_path_;
  File file_;
  bool committed_ = false;
};

}  // namespace dt
