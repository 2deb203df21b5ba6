#pragma once
// A folder of the user's own under a name that others may have taken first.

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/own_names.hpp"

namespace dt {

/// A real folder of this user's, held by a descriptor: whatever happens to its name, the calls below work in
/// the folder that was opened. Names are single components. In a folder to which only this user may write
/// nobody plants anything; where the user lets others write, names that are links, or no regular files, or
/// others', are refused. Errors: environment, naming what is in the way, whose it is and what to do.
class OwnFolder {
 public:
  /// Opens a folder that is there.
  static OwnFolder open(const fs::path& path);
  /// Opens a folder; returns none where nothing has the name.
  static std::optional<OwnFolder> find(const fs::path& path);
  /// Opens a folder, or makes it and missing folders above it. `most`: the widest permissions that it gets;
  /// a folder of the user that has wider ones is narrowed.
  static OwnFolder take(const fs::path& path, mode_t most = 0777);
  /// Makes a folder; returns none where anything has the name.
  static std::optional<OwnFolder> make(const fs::path& path, mode_t most = 0777);

  /// Takes over a folder that open_folder_at() has opened.
  static OwnFolder adopt(File folder) { return OwnFolder(std::move(folder)); }

  const fs::path& path() const { return folder_.path(); }
  int descriptor() const { return folder_.descriptor(); }
  /// Returns whether the path still leads to this folder. Errors: environment, where it may not be looked at.
  bool is_in_place() const;

  OwnFolder open_folder(const std::string& name) const;
  OwnFolder take_folder(const std::string& name, mode_t most = 0777) const;
  /// Makes a file anew, for reading and writing, in place of one that this user left.
  File create(const std::string& name, mode_t mode = 0666) const;
  File open_read(const std::string& name) const;
  File open_append(const std::string& name) const;
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;
  void rename(const std::string& from, const std::string& to) const;
  /// Removes a file; nothing where it is not there.
  void remove(const std::string& name) const;
  /// See remove_at.
  std::string remove_tree(const std::string& name, const NamePredicate& is_ours = {}) const;
  void sync() const;

 private:
  explicit OwnFolder(File folder) : folder_(std::move(folder)) {}
  File folder_;
};

}  // namespace dt
