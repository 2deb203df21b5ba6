#include "run/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/open_at.hpp"
#include "base/io/permissions.hpp"
#include "checkpoint/manifest.hpp"
#include "run/exclusion_records.hpp"
#include "run/prune.hpp"

namespace dt::run {

namespace {

constexpr const char* removed_suffix = ".removed";
constexpr const char* unfinished_infix = ".tmp-";  // infix in names of AtomicDirectory

/// Returns a message that names a leftover's owner if is_strangers() holds for it, else "".
std::string why_foreign(const fs::path& leftover) {
  struct stat status {
  }, folder{};
  if (::lstat(leftover.c_str(), &status) != 0 || ::stat(leftover.parent_path().c_str(), &folder) != 0)
    return {};
  if (!is_owned_by_stranger(status.st_uid, folder)) return {};
  return fmt::format("it belongs to {}; have its owner remove it", describe_user(status.st_uid));
}

/// Removes hidden folders. The loss of their final names must be on disk before the first file is
/// removed.
void remove_hidden(const fs::path& folder, const std::vector<fs::path>& hidden, RemovalResult& result) {
  if (!hidden.empty()) sync_directory(folder);
  for (const fs::path& path : hidden) {
    if (const std::string why = remove_tree(path); !why.empty())
      result.problems.push_back({path.string(), why});
  }
}

/// Finds hidden folders that checkpoints leave and `is_garbage` accepts, except those of other
/// users.
void find_leftovers(const fs::path& folder, bool (*is_garbage)(const std::string&),
                    std::vector<fs::path>& hidden, RemovalResult& result) {
  for (const fs::path& path : entries_of(folder)) {
    const std::string name = path.filename().string();
    if (!name.starts_with(".step-") || !is_garbage(name) || std::ranges::find(hidden, path) != hidden.end())
      continue;
    if (const std::string why = why_foreign(path); !why.empty()) {
      result.problems.push_back({path.string(), why});
      continue;
    }
    // Rename it first, so that a process that still fills it cannot give the remains a final name.
    fs::path gone = path;
    if (!name.ends_with(removed_suffix)) {
      gone += removed_suffix;
      if (::rename(path.c_str(), gone.c_str()) != 0) {
        // ENOENT: it has just become a checkpoint, or is gone.
        if (errno != ENOENT) result.problems.push_back({path.string(), std::strerror(errno)});
        continue;
      }
    }
    hidden.push_back(gone);
    result.removed.push_back(path);
  }
}

/// Renames a checkpoint to a hidden name and returns that name, or none if the checkpoint is gone.
/// Tries several names, since remains of an earlier removal may occupy one.
/// Errors: environment.
std::optional<fs::path> hide(const fs::path& checkpoint) {
  constexpr int most_leftovers = 100;
  for (int number = 0; number < most_leftovers; ++number) {
    const std::string infix = number == 0 ? "" : fmt::format(".{}", number);
    fs::path hidden = checkpoint.parent_path() /
                      fmt::format(".{}{}{}", checkpoint.filename().string(), infix, removed_suffix);
    if (::rename(checkpoint.c_str(), hidden.c_str()) == 0) return hidden;
    if (errno == ENOENT) return std::nullopt;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) break;
  }
  throw system_error(errno, "remove", checkpoint.string());
}

/// Removes the records beside a checkpoint.
/// Errors: environment.
void clear_records(const fs::path& checkpoint) {
  clear_failed_loads(checkpoint);
  clear_not_finite(checkpoint);
}

/// Removes records about checkpoints that no longer exist.
void remove_orphaned_records(const fs::path& folder) {
  for (const fs::path& path : entries_of(folder)) {
    for (const std::string_view suffix : {failed_loads_suffix, not_finite_suffix}) {
      std::string name = path.filename().string();
      if (!name.ends_with(suffix)) continue;
      name.resize(name.size() - suffix.size());
      if (path_exists(folder / name)) continue;
      try {
        remove_own_file(path);
      } catch (const Error&) {  // the next start tries again
      }
    }
  }
}

}  // namespace

std::string why_excluded(const fs::path& checkpoint) {
  std::string why = why_set_aside(checkpoint);
  return why.empty() ? why_not_finite(checkpoint) : why;
}

std::string why_incomplete(const fs::path& checkpoint) {
  try {
    if (std::string why = why_excluded(checkpoint); !why.empty()) return why;
    const checkpoint::Reader reader(checkpoint);
    return {};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return error.what();  // without the context: the caller gives its own advice
  }
}

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {}

void RunDirectory::refuse_strangers() const {
  for (const fs::path& folder : {path_, checkpoints_path(), generations_path()})
    refuse_untrusted_path(folder);
}

void RunDirectory::create() const {
  refuse_strangers();
  for (const fs::path& folder : {path_, checkpoints_path(), generations_path()}) {
    create_folders(folder);
    if (::access(folder.c_str(), W_OK | X_OK) != 0) throw system_error(errno, "write into", folder.string());
  }
  sync_directory(path_);  // a start that was killed may have made the subfolders without syncing them
}

std::string RunDirectory::other_writers() const {
  for (const fs::path& folder : {path_, checkpoints_path(), generations_path()}) {
    if (std::string writers = describe_other_writers(folder); !writers.empty()) return writers;
  }
  struct stat parent {};
  const bool everybody_renames = ::stat((path_ / "..").c_str(), &parent) == 0 &&
                                 (parent.st_mode & S_IWOTH) != 0 && (parent.st_mode & S_ISVTX) == 0;
  return everybody_renames ? "everybody (by the mode of the parent folder)" : "";
}

void RunDirectory::require() const {
  const std::string name = path_.string();
  if (!folder_exists(path_)) {
    throw Error(ErrorKind::input, fmt::format("{} is not a folder", name),
                "expected a run directory of dt-train");
  }
  if (folder_exists(checkpoints_path()) || folder_exists(generations_path())) return;
  const bool is_checkpoint = path_exists(path_ / checkpoint::manifest_name);
  throw Error(
      ErrorKind::input,
      fmt::format("{} is {}", name, is_checkpoint ? "a checkpoint" : "not a run directory of dt-train"),
      "expected the folder that was given to dt-train as --run: it holds checkpoints/ and generations/");
}

std::vector<checkpoint::CheckpointEntry> RunDirectory::checkpoints() const {
  std::vector<checkpoint::CheckpointEntry> found;
  std::error_code error;
  for (const fs::path& path : entries_of(checkpoints_path())) {
    const auto entry = checkpoint::parse_checkpoint_name(path);
    if (!entry) continue;
    const fs::file_status status = fs::status(path, error);
    // A checkpoint that cannot be looked at must not pass for a missing one: a start would begin
    // anew.
    if (error && status.type() != fs::file_type::not_found)
      throw system_error(error.value(), "stat", path.string());
    if (fs::is_directory(status)) found.push_back(*entry);
  }
  std::sort(found.begin(), found.end(),
            [](const checkpoint::CheckpointEntry& a, const checkpoint::CheckpointEntry& b) {
              return a.step != b.step ? a.step < b.step : a.generation < b.generation;
            });
  return found;
}

std::optional<Generation> RunDirectory::find_generation(
    std::int64_t number, const std::vector<Generation>& claimed,
    const std::vector<checkpoint::CheckpointEntry>& entries) const {
  for (const Generation& g : claimed) {
    if (g.number == number) return g;
  }
  for (const checkpoint::CheckpointEntry& entry : entries) {
    if (entry.generation != number) continue;
    try {
      Generation g;
      g.number = number;
      g.continues = checkpoint::load_manifest(entry.path).parent;
      const auto parent = checkpoint::parse_checkpoint_name(g.continues);
      g.continues_step = parent ? parent->step : 0;
      return g;
    } catch (const Error& error) {  // another of its checkpoints may tell
      if (error.kind() != ErrorKind::input) throw;
    }
  }
  return std::nullopt;
}

std::vector<checkpoint::CheckpointEntry> RunDirectory::on_lineage(
    std::vector<checkpoint::CheckpointEntry> entries) const {
  const std::vector<Generation> claimed = generations();
  std::sort(entries.begin(), entries.end(), is_newer);
  std::int64_t number = claimed.empty() ? 0 : claimed.back().number;
  if (!entries.empty()) number = std::max(number, entries.front().generation);
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::vector<checkpoint::CheckpointEntry> result;
  while (number > 0) {
    for (const checkpoint::CheckpointEntry& entry : entries) {
      if (entry.generation == number && entry.step <= last_step) result.push_back(entry);
    }
    const auto generation = find_generation(number, claimed, entries);
    const auto parent = generation ? checkpoint::parse_checkpoint_name(generation->continues) : std::nullopt;
    // The walk ends at a checkpoint outside the run, and at a file that would close a circle.
    const bool is_inside = parent && parent->path == parent->path.filename() && parent->generation < number;
    number = is_inside ? parent->generation : 0;
    if (is_inside) last_step = std::min(last_step, generation->continues_step);
  }
  return result;
}

std::optional<checkpoint::CheckpointEntry> RunDirectory::newest_complete(
    std::vector<checkpoint::Problem>* skipped) const {
  std::set<fs::path> seen;  // each is reported once
  bool is_pruned = true;
  while (std::exchange(is_pruned, false)) {
    for (const checkpoint::CheckpointEntry& entry : lineage()) {
      const std::string why = why_incomplete(entry.path);
      if (why.empty()) return entry;
      // A running job that prunes has saved newer ones since the listing.
      is_pruned = checkpoint::is_removed(entry.path);
      if (is_pruned) break;
      if (skipped != nullptr && seen.insert(entry.path).second)
        skipped->push_back({entry.path.string(), why});
    }
  }
  return std::nullopt;
}

RemovalResult RunDirectory::remove(std::span<const fs::path> checkpoints) const {
  RemovalResult result;
  std::vector<fs::path> hidden;
  for (const fs::path& path : checkpoints) {
    try {
      const auto hidden_path = hide(path);
      if (!hidden_path) continue;
      hidden.push_back(*hidden_path);
      result.removed.push_back(path);
      clear_records(path);
    } catch (const Error& error) {
      result.problems.push_back({path.string(), error.message()});
    }
  }
  RemovalResult earlier;
  find_leftovers(
      checkpoints_path(), [](const std::string& name) { return name.ends_with(removed_suffix); }, hidden,
      earlier);
  remove_hidden(checkpoints_path(), hidden, earlier);
  result.problems.insert(result.problems.end(), earlier.problems.begin(), earlier.problems.end());
  return result;
}

void RunDirectory::restore_replaced() const {
  for (const fs::path& path : entries_of(checkpoints_path())) {
    std::string name = path.filename().string();
    if (!name.starts_with(".step-") || !name.ends_with(replaced_suffix)) continue;
    name.resize(name.size() - std::string_view(replaced_suffix).size());
    try {
      dt::restore_replaced(checkpoints_path() / name.substr(1));
    } catch (const Error&) {  // remove_leftovers() reports what stays
    }
  }
}

RemovalResult RunDirectory::remove_leftovers() const {
  restore_replaced();
  remove_orphaned_records(checkpoints_path());
  RemovalResult result;
  std::vector<fs::path> hidden;
  find_leftovers(
      checkpoints_path(),
      [](const std::string& name) {
        return name.ends_with(removed_suffix) || name.ends_with(replaced_suffix) ||
               name.find(unfinished_infix) != std::string::npos;
      },
      hidden, result);
  remove_hidden(checkpoints_path(), hidden, result);
  return result;
}

RemovalResult RunDirectory::prune(std::int64_t own_generation, std::optional<std::int64_t> keep_last,
                                  std::int64_t keep_every) const {
  if (!keep_last) return {};
  // Read the lineage before the claims. If another start claims in between, the removed checkpoints
  // are still ones that the caller's own lineage can spare, never one that the other start wrote.
  const std::vector<checkpoint::CheckpointEntry> entries = lineage();
  const std::vector<Generation> claimed = generations();
  if (!claimed.empty() && claimed.back().number > own_generation) return {};
  const auto decisions =
      decide_prune(entries, {*keep_last, keep_every},
                   [](const checkpoint::CheckpointEntry& entry) { return why_incomplete(entry.path); });
  std::vector<fs::path> spared;
  for (const PruneDecision& decision : decisions) {
    if (!decision.keep) spared.push_back(decision.entry.path);
  }
  return remove(spared);
}

}  // namespace dt::run
