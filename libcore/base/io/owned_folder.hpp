#pragma once
// A folder of the user's own under a name that other users may have taken first.

#include <optional>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "base/io/open_at.hpp"

namespace dt {

/// A real folder of this user, held by a descriptor. The methods work in the folder that was
/// opened, whatever happens to its name. Names are single components. If only this user may write
/// to the folder, no other user can plant a name. If others may write, the methods refuse links,
/// entries other than regular files, and other users' entries.
/// Errors: environment, naming what is in the way, its owner and what to do.
class OwnedFolder {
 public:
  /// Opens an existing folder.
  static OwnedFolder open(const fs::path& path);
  /// Opens a folder. Returns none if nothing has the name.
  static std::optional<OwnedFolder> open_if_exists(const fs::path& path);
  /// Opens a folder, or makes it and missing ancestors. `most` is the widest mode that a new folder
  /// gets. The call narrows an existing folder with a wider mode.
  static OwnedFolder open_or_create(const fs::path& path, mode_t most = 0777);
  /// Makes a folder. Returns none if anything has the name.
  static std::optional<OwnedFolder> create_new(const fs::path& path, mode_t most = 0777);

  /// Takes ownership of a folder that open_folder_at() opened.
  static OwnedFolder adopt(File folder) { return OwnedFolder(std::move(folder)); }

  const fs::path& path() const { return folder_.path(); }
  int descriptor() const { return folder_.descriptor(); }
  /// Returns whether the path still leads to this folder.
  /// Errors: environment if the path may not be looked at.
  bool is_in_place() const;

  OwnedFolder open_folder(const std::string& name) const;
  OwnedFolder open_or_create_folder(const std::string& name, mode_t most = 0777) const;
  /// Creates a file for reading and writing. It replaces a file that this user left there.
  File create(const std::string& name, mode_t mode = 0666) const;
  File open_read(const std::string& name) const;
  File open_append(const std::string& name) const;
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;
  void rename(const std::string& from, const std::string& to) const;
  /// Removes a file. Does nothing if it does not exist.
  void remove(const std::string& name) const;
  /// Removes a tree as remove_at() does.
  std::string remove_tree(const std::string& name, const NamePredicate& is_ours = {}) const;
  void sync() const;

 private:
  explicit OwnedFolder(File folder) : folder_(std::move(folder)) {}
  File folder_;
};

}  // namespace dt
