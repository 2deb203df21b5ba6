#include "run/local/local_store.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <functional>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/open_at.hpp"
#include "base/io/owned_folder.hpp"
#include "base/io/permissions.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/writer_manifest.hpp"

namespace dt::run {

namespace {

constexpr const char* header_name = "header.json";
constexpr const char* claim_name = "generation.json";
constexpr const char* unfinished_suffix = ".unfinished";
constexpr const char* removed_suffix = ".removed";

/// Returns the name of this user's folder in a folder that users share.
std::string user_folder_name() {
  return fmt::format("dt-local-{}", ::geteuid());
}

/// Returns a readable name that no other path has: "runs/a" becomes "a-0123456789abcdef". The
/// result is the same before the run exists.
std::string folder_name(const fs::path& run) {
  const fs::path path = fs::weakly_canonical(fs::absolute(run));
  return fmt::format("{}-{}", path.filename().string().substr(0, 160), to_hex(digest(path.string())));
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::path& path : entries_of(folder)) {
    if (folder_exists(path)) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void remove_folder(const fs::path& path) {
  if (const std::string why = remove_tree(path); !why.empty())
    throw environment_error("cannot remove {}", why);
}

/// Runs removals in turn; a failure does not stop the rest. Keeps the first failure, or "".
class Removals {
 public:
  void attempt(const std::function<void()>& removal) {
    try {
      removal();
    } catch (const Error& error) {
      if (failure_.empty()) failure_ = error.message();
    }
  }
  const std::string& failure() const { return failure_; }

 private:
  std::string failure_;
};

/// Renames a shard before its files are removed, so that no process finds a shard that has lost
/// half of them.
fs::path hide(const fs::path& shard) {
  const fs::path hidden = shard.parent_path() / ("." + shard.filename().string() + removed_suffix);
  std::error_code error;
  fs::rename(shard, hidden, error);
  if (error && error != std::errc::no_such_file_or_directory)
    throw system_error(error.value(), "remove", shard.string());
  return hidden;
}

/// Returns 3 for "part-00003.json", and -1 for any other name.
int writer_of(const std::string& name) {
  constexpr std::string_view prefix = "part-";
  int writer = -1;
  if (!name.starts_with(prefix)) return -1;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), writer);
  return writer >= 0 && checkpoint::writer_manifest_name(writer) == name ? writer : -1;
}

bool has_valid_writer_files(const fs::path& shard, const ShardCodes& codes, int writer) {
  try {
    const std::string name = checkpoint::writer_manifest_name(writer);
    const std::string text = read_file(shard / name);
    codes.check(name, text);
    const checkpoint::WriterManifest manifest =
        checkpoint::parse_writer_manifest(text, (shard / name).string());
    return std::all_of(manifest.files.begin(), manifest.files.end(), [&](const checkpoint::StoredFile& file) {
      return File::open_read(shard / file.name).size() == file.bytes;
    });
  } catch (const Error& error) {
    if (!error.indicates_corruption()) throw;
    return false;  // another node may hold it
  }
}

std::vector<int> writers_in(const fs::path& shard, const checkpoint::Manifest& header,
                            const ShardCodes& codes) {
  std::vector<int> writers;
  for (const fs::path& path : entries_of(shard)) {
    const int writer = writer_of(path.filename().string());
    if (writer >= 0 && writer < num_writers(header) && has_valid_writer_files(shard, codes, writer))
      writers.push_back(writer);
  }
  std::sort(writers.begin(), writers.end());
  return writers;
}

/// Returns a message about the users that could exchange entries of the folder because this user
/// admits them, or "" if there are none. Strangers cannot: see make_private_storage().
std::string why_exposed(const fs::path& folder) {
  struct stat s {};
  if (::stat(folder.c_str(), &s) != 0) return {};
  const bool is_others = s.st_uid != ::geteuid() && s.st_uid != 0;
  if (!is_others && ((s.st_mode & S_ISVTX) != 0 || (s.st_mode & S_IWGRP) == 0)) return {};
  const std::string writers = describe_other_writers(folder);
  if (writers.empty()) return {};
  return fmt::format("{} may rename files in {} and replace local checkpoints with other files{}", writers,
                     folder.string(),
                     is_others ? "" : fmt::format("; chmod +t {} prevents that", folder.string()));
}

/// Runs `action` and turns its errors into input errors. Files that this node cannot read may exist
/// on another, so the fault is the shard's, not the start's.
template <class Action>
auto reading(Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(ErrorKind::input, error.message());
  }
}

/// Opens a file of this user only. The shard's codes do not cover its files of weights, so another
/// user's file must not be read.
File open_own(const fs::path& path) {
  const File parent = File::adopt(open_parent(path, "open"), path.parent_path());
  return File::adopt(open_file_at(parent.descriptor(), path.filename(), path, O_RDONLY, Owner::self), path);
}

void copy_synced(const fs::path& from, const fs::path& to) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  File source = reading([&] { return open_own(from); });
  File target = File::create(to);
  while (const std::size_t count = reading([&] { return source.read(buffer); })) {
    target.write(std::span(buffer).first(count));
  }
  target.sync();
  target.close();
}

void check_copy(const fs::path& path, const fs::path& origin, const checkpoint::StoredFile& stored,
                const checkpoint::WriterManifest& manifest) {
  const File file = File::open_read(path);
  if (file.size() != stored.bytes)
    throw input_error("{} has {} bytes, expected {}", origin.string(), file.size(), stored.bytes);
  for (const checkpoint::DigestedBytes& bytes : checkpoint::digested_bytes(stored, manifest.pieces)) {
    if (const std::string why = checkpoint::why_damaged(file, bytes); !why.empty())
      throw input_error("{}: {}", origin.string(), why);
  }
}

}  // namespace

int num_writers(const checkpoint::Manifest& header) {
  return header.mesh.size();
}

LocalStore::LocalStore(const fs::path& folder, const RunDirectory& run, const std::string& host,
                       std::optional<Secret> key)
    : run_(run),
      key_(std::move(key)),
      user_path_(folder / user_folder_name()),
      run_path_(user_path_ / folder_name(run.path())),
      path_(run_path_ / host) {}

void LocalStore::create() const {
  make_private_storage(user_path_.parent_path());
  OwnedFolder::open_or_create(user_path_, S_IRWXU)
      .open_or_create_folder(run_path_.filename(), S_IRWXU)
      .open_or_create_folder(path_.filename(), S_IRWXU);
}

bool LocalStore::exists() const {
  const std::optional<OwnedFolder> own = OwnedFolder::open_if_exists(user_path_);
  if (!own || !own->has(run_path_.filename())) return false;
  own->open_folder(run_path_.filename());
  return true;
}

std::string LocalStore::open() const {
  create();
  write_file_atomically(path_ / "run", fs::weakly_canonical(fs::absolute(run_.path())).string() + "\n");
  Removals removals;
  for (const fs::path& host : folders_in(run_path_)) {
    for (const fs::path& folder : folders_in(host)) {
      if (folder.filename().string().starts_with(".step-")) removals.attempt([&] { remove_folder(folder); });
    }
  }
  for (const checkpoint::CheckpointEntry& shard : all_shards()) {
    if (origin_of(shard.path, shard.generation) == Origin::another_run)
      removals.attempt([&] { remove_folder(hide(shard.path)); });
  }
  return removals.failure().empty() ? why_exposed(user_path_.parent_path()) : removals.failure();
}

void LocalStore::check_usable() const {
  create();
  if (::access(path_.c_str(), R_OK | W_OK | X_OK) != 0) throw system_error(errno, "write to", path_.string());
}

std::vector<checkpoint::CheckpointEntry> LocalStore::all_shards() const {
  std::vector<checkpoint::CheckpointEntry> found;
  if (!exists()) return found;
  for (const fs::path& host : folders_in(run_path_)) {
    for (const fs::path& path : folders_in(host)) {
      if (const auto name = checkpoint::parse_checkpoint_name(path)) found.push_back(*name);
    }
  }
  return found;
}

/// Returns which run the shard is from. A run that was removed and started again has other generations
/// under the same numbers.
LocalStore::Origin LocalStore::origin_of(const fs::path& shard, std::int64_t generation) const {
  try {
    const std::string claimed = read_file(run_.generation_path(generation));
    if (claimed.empty())
      return Origin::unknown;  // withdrawn by hand: nothing was saved under a claim that a start withdrew
    return read_file(shard / claim_name) == claimed ? Origin::this_run : Origin::another_run;
  } catch (const Error&) {  // a file is missing or unreadable
    return Origin::unknown;
  }
}

fs::path LocalStore::unfinished_path(std::int64_t step, std::int64_t generation) const {
  return path_ / ("." + checkpoint::checkpoint_name(step, generation) + unfinished_suffix);
}

void LocalStore::begin(std::int64_t step, std::int64_t generation) const {
  if (!exists() || !path_exists(path_)) create();
  const fs::path unfinished = unfinished_path(step, generation);
  remove_folder(unfinished);
  // Its name need not survive a crash, so only commit() syncs path_.
  if (!OwnedFolder::create_new(unfinished, S_IRWXU))
    throw system_error(EEXIST, "create", unfinished.string());
}

fs::path LocalStore::commit(checkpoint::Manifest header, const std::string& claim) const {
  const fs::path unfinished = unfinished_path(header.state.step, header.generation);
  const fs::path path = path_ / checkpoint::checkpoint_name(header.state.step, header.generation);
  if (header.created.empty()) header.created = utc_timestamp();
  if (header.dt_version.empty()) header.dt_version = dt_version();
  write_synced(unfinished / header_name, to_json(header));
  write_synced(unfinished / claim_name, claim);
  std::vector<std::string> names = {header_name, claim_name};
  for (const fs::path& path : entries_of(unfinished)) {
    if (const std::string name = path.filename().string(); writer_of(name) >= 0) names.push_back(name);
  }
  codes(header.state.step, header.generation).write(unfinished, names);
  sync_directory(unfinished);
  exists();  // throws if the folder is another user's; the rename fails if it is missing
  std::error_code error;
  fs::rename(unfinished, path, error);
  if (error) throw system_error(error.value(), "create", path.string());
  sync_directory(path_);
  return path;
}

void LocalStore::discard(std::int64_t step, std::int64_t generation) const {
  std::error_code ignored;  // the next start removes it
  fs::remove_all(unfinished_path(step, generation), ignored);
}

ShardCodes LocalStore::codes(std::int64_t step, std::int64_t generation) const {
  if (!key_)
    throw input_error("it cannot be checked without the run's key {}", shard_key_path(run_).string());
  return {*key_, step, generation};
}

LocalShard LocalStore::load(const checkpoint::CheckpointEntry& name) const {
  ShardCodes own_codes = codes(name.step, name.generation);
  own_codes.load(name.path);
  own_codes.check(claim_name, read_file(name.path / claim_name));
  LocalShard shard;
  shard.path = name.path;
  shard.header_text = read_file(name.path / header_name);
  own_codes.check(header_name, shard.header_text);
  shard.header = checkpoint::parse_manifest(shard.header_text, (name.path / header_name).string());
  if (shard.header.state.step != name.step || shard.header.generation != name.generation)
    throw input_error("{} is of step {}, generation {}", (name.path / header_name).string(),
                      shard.header.state.step, shard.header.generation);
  shard.writers = writers_in(name.path, shard.header, own_codes);
  return shard;
}

std::vector<LocalShard> LocalStore::shards(std::vector<checkpoint::Problem>& problems) const {
  std::vector<LocalShard> found;
  for (const checkpoint::CheckpointEntry& shard : all_shards()) {
    const Origin origin = origin_of(shard.path, shard.generation);
    if (origin == Origin::unknown)
      problems.push_back({shard.path.string(), "cannot determine whether it belongs to this run"});
    if (origin != Origin::this_run) continue;
    try {
      found.push_back(load(shard));
    } catch (const Error& error) {
      problems.push_back({shard.path.string(), error.message()});
    } catch (const fs::filesystem_error& error) {
      problems.push_back({shard.path.string(), error.code().message()});
    }
  }
  return found;
}

std::vector<fs::path> LocalStore::shard_paths(std::int64_t step, std::int64_t generation) const {
  std::vector<fs::path> found;
  for (const checkpoint::CheckpointEntry& shard : all_shards()) {
    if (shard.step == step && shard.generation == generation &&
        origin_of(shard.path, generation) == Origin::this_run)
      found.push_back(shard.path);
  }
  return found;
}

void LocalStore::remove_older(std::int64_t own_generation, const checkpoint::CheckpointEntry& newest,
                              std::optional<std::int64_t> kept) const {
  Removals removals;
  for (const checkpoint::CheckpointEntry& shard : all_shards()) {
    if (shard.generation == own_generation && shard.step == kept) continue;
    if (shard.generation <= own_generation && is_newer(newest, shard) &&
        origin_of(shard.path, shard.generation) == Origin::this_run)
      removals.attempt([&] { remove_folder(hide(shard.path)); });
  }
  if (!removals.failure().empty()) throw environment_error("{}", removals.failure());
}

void LocalStore::clear(std::int64_t own_generation) const {
  clear(own_generation, {{}, std::numeric_limits<std::int64_t>::max(), own_generation});
}

void LocalStore::clear(std::int64_t own_generation, const checkpoint::CheckpointEntry& newest) const {
  remove_older(own_generation, newest);
  if (!all_shards().empty()) return;
  std::error_code ignored;  // other hosts' folders may be in it
  fs::remove_all(path_, ignored);
  fs::remove(run_path_, ignored);  // the user's folder stays: another run's start may be about to use it
}

checkpoint::WriterManifest LocalStore::copy_writer_files(const fs::path& shard,
                                                         const checkpoint::Manifest& header, int writer,
                                                         const fs::path& unfinished,
                                                         bool keeps_manifest) const {
  const std::string part_name = checkpoint::writer_manifest_name(writer);
  // Only content that matches its code is parsed.
  const std::string text = reading([&] { return read_file(shard / part_name); });
  ShardCodes own_codes = codes(header.state.step, header.generation);
  reading([&] { own_codes.load(shard); });
  own_codes.check(part_name, text);
  checkpoint::WriterManifest manifest = checkpoint::parse_writer_manifest(text, (shard / part_name).string());
  std::vector<std::string> names = {part_name};
  for (const checkpoint::StoredFile& file : manifest.files) names.push_back(file.name);
  try {
    for (const checkpoint::StoredFile& file : manifest.files) {
      copy_synced(shard / file.name, unfinished / file.name);
      check_copy(unfinished / file.name, shard / file.name, file, manifest);
    }
    if (keeps_manifest) write_synced(unfinished / part_name, text);
    sync_directory(unfinished);
    return manifest;
  } catch (...) {
    std::error_code ignored;
    for (const std::string& name : names) fs::remove(unfinished / name, ignored);
    throw;
  }
}

}  // namespace dt::run
