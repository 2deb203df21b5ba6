#pragma once
// Authentication of shards. A run recognizes the shards that its own jobs left on nodes' storage by
// codes made with the run's key. See FORMATS.md, local checkpoints.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/secret.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

/// Returns the path of this user's key for the run. No other user may read the file.
fs::path shard_key_path(const RunDirectory& run);
/// Returns the key, or none and the reason. The key may be missing or damaged, or others could have
/// read or written it, so that codes made with it prove nothing.
/// Errors: environment if the file may not be read, or is another user's.
std::optional<Secret> load_shard_key(const RunDirectory& run, std::string& why);
/// Returns the key. Creates a new one if load_shard_key() returns none.
/// Errors: environment.
Secret load_or_create_shard_key(const RunDirectory& run);

/// The codes of one shard: of its header, its generation and each writer manifest. Manifests contain the
/// digests of all other bytes.
class ShardCodes {
 public:
  static constexpr const char* file_name = "codes";
  ShardCodes(const Secret& key, std::int64_t step, std::int64_t generation)
      : key_(key), step_(step), generation_(generation) {}

  /// Writes the codes of the named files, except those missing in the folder, and syncs them.
  /// Errors: environment.
  void write(const fs::path& folder, const std::vector<std::string>& names) const;
  /// Loads the codes of a shard.
  /// Errors: input if there are none.
  void load(const fs::path& shard);
  /// Checks a file's code.
  /// Errors: input if the code differs or is missing.
  void check(const std::string& name, std::string_view content) const;

 private:
  std::string code(const std::string& name, std::string_view content) const;
  Secret key_;
  std::int64_t step_, generation_;
  fs::path shard_;
  std::map<std::string, std::string> codes_;  // text by file name
};

}  // namespace dt::run
