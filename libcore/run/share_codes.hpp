#pragma once
// How a run recognises the shares that its own jobs left on nodes' storage: by codes that take the run's key.
// See FORMATS.md, local checkpoints.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

/// Returns the path of this user's key of the run, a file that nobody else may read.
fs::path share_key_path(const RunDirectory& run);
/// Returns the key, or none and why: it is missing or damaged, or others could have read or written it, so
/// that what was made with it proves nothing. Errors: environment, where it may not be read, or another
/// user's file has its name.
std::optional<Secret> load_share_key(const RunDirectory& run, std::string& why);
/// Returns the key; makes it anew where load_share_key() finds none. Errors: environment.
Secret open_share_key(const RunDirectory& run);

/// The codes of one share: of its header, its generation and each part. Parts hold the digests of all other
/// bytes.
class ShareCodes {
 public:
  static constexpr const char* file_name = "codes";
  ShareCodes(const Secret& key, std::int64_t step, std::int64_t generation)
      : key_(key), step_(step), generation_(generation) {}

  /// Writes the codes of these files of the folder, as far as they are there, synced. Errors: environment.
  void write(const fs::path& folder, const std::vector<std::string>& names) const;
  /// Takes what lies in a share. Errors: input, where there are no codes.
  void load(const fs::path& share);
  /// Errors: input: the code of a file of that name is another, or there is none.
  void check(const std::string& name, std::string_view content) const;

 private:
  std::string code(const std::string& name, std::string_view content) const;
  Secret key_;
  std::int64_t step_, generation_;
  fs::path share_;
  std::map<std::string, std::string> codes_;  // by name, as text
};

}  // namespace dt::run
