#pragma once
// Readers of files and folders by their modes. What dt makes of them is limited to these readers.

#include <optional>
#include <sys/stat.h>

#include "base/files.hpp"

namespace dt {

/// The users whom the modes of some files and folders let read all of them, beside the owner: everybody, a
/// group, or nobody. An access list (ACL) counts as nobody where it may leave out members of the group.
class Audience {
 public:
  /// Everybody.
  Audience() = default;
  /// Returns who may read a file or enter a folder. Follows links. For a pipe or a device that is everybody,
  /// since its mode says nothing of the bytes that come from it. Errors: environment, input.
  static Audience of(const fs::path& path);
  static Audience of(const fs::path& path, const struct stat& status);
  /// Returns who may enter a file's folder and read the file.
  static Audience of_file(const fs::path& path);

  /// Keeps only users that are in both.
  Audience& operator&=(const Audience& other);
  /// Returns the mode without bits that let other users read or enter what belongs to `group`.
  mode_t limit(mode_t mode, gid_t group) const;

 private:
  bool is_everybody_ = true;
  std::optional<gid_t> group_;  // where it is not everybody
};

/// Takes mode bits from the user's own file or folder so that only `audience` may read it. A narrowed
/// folder hides all that is in it. Errors: environment.
void limit_readers(const fs::path& path, const Audience& audience);

}  // namespace dt
