#pragma once
// Who may read something, so that its copies let nobody else read it.

#include <optional>
#include <sys/stat.h>

#include "base/files.hpp"

namespace dt {

/// Those whom the modes of some files and folders let read them all, beside their owner: everybody, a group,
/// or nobody. An access list (ACL) counts as nobody where it may leave out members of the group.
class Audience {
 public:
  /// Everybody.
  Audience() = default;
  /// The readers of a file, or those who may enter a folder. Links are followed. A pipe's or a device's are
  /// everybody, as its mode says nothing of what comes from it. Errors: environment, input.
  static Audience of(const fs::path& path);
  static Audience of(const fs::path& path, const struct stat& status);
  /// Those who may enter a file's folder and read it.
  static Audience of_file(const fs::path& path);

  /// Leaves those who are in both.
  Audience& operator&=(const Audience& other);
  /// Takes from a mode what lets others than these read or enter what belongs to `group`.
  mode_t limit(mode_t mode, gid_t group) const;

 private:
  bool is_everybody_ = true;
  std::optional<gid_t> group_;  // where it is not everybody
};

/// Takes from the mode of a file or folder of the user's own what lets others than `audience` read it. A
/// folder so narrowed hides all that is in it. Errors: environment.
void limit_readers(const fs::path& path, const Audience& audience);

}  // namespace dt
