#include "data/build/unfinished_dataset.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/json.hpp"
#include "base/io/owned_folder.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "data/build/tokenizer_config.hpp"
#include "data/read/dataset_file.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::json;

constexpr const char* lock_name = "lock";
constexpr const char* begun_name = "begun.json";
constexpr const char* spool_prefix = "spool-";
constexpr const char* nfs_prefix =
    ".nfs";  // prefix of NFS files that were removed while open; they vanish by themselves
constexpr std::uint64_t longest_begun = std::uint64_t{1} << 26;
constexpr double dying_s = 2;
constexpr std::chrono::milliseconds poll_time{100};

Json json_of(const DatasetIdentity& identity) {
  Json json = parse_json(identity.origin, {"the requested dataset"});
  json["tokenizer_digest"] = to_hex(identity.tokenizer.digest);
  json["end_of_document"] = identity.tokenizer.eos ? Json(*identity.tokenizer.eos) : Json();
  json["inputs_digest"] = to_hex(identity.inputs_digest);
  return json;
}

fs::path spool_in(const fs::path& folder, const Json& identity) {
  return folder / (spool_prefix + to_hex(digest(identity.dump())));
}

/// Returns the content of begun.json, or nothing if it is missing or was not written by this
/// program.
Json read_begun(const OwnedFolder& folder) {
  if (!folder.has(begun_name)) return {};
  try {
    File file = folder.open_read(begun_name);
    std::string text(std::min(file.size(), longest_begun), '\0');
    text.resize(file.read(std::as_writable_bytes(std::span(text))));
    Json begun = parse_json_object(text, {begun_name});
    if (begun.value("identity", Json()).is_object() && begun.value("step", Json()).is_string()) return begun;
  } catch (const Error& error) {
    if (!error.indicates_corruption()) throw;  // otherwise it vanished just now, or is another kind of file
  }
  return {};
}

std::string difference(const Json& begun, const Json& now) {
  for (const auto& [key, value] : now.items()) {
    const std::string was = begun.contains(key) ? begun.at(key).dump() : "";
    if (was == value.dump()) continue;
    if (key == "inputs_digest") return "other inputs, or the inputs have changed since then";
    if (key == "tokenizer_digest") return "another tokenizer";
    if (was.empty()) return fmt::format("no {}, but now it is {}", key, value.dump());
    return fmt::format("{} {}, but now it is {}", key, was, value.dump());
  }
  return {};
}

void check_same(const fs::path& folder, const Json& begun, const Json& now) {
  const std::string differs = difference(begun.value("identity", Json::object()), now);
  if (differs.empty()) return;
  throw Error(ErrorKind::input, fmt::format("{} was started with {}", folder.string(), differs),
              "repeat the earlier command with --resume, or start over without --resume");
}

/// Checks that task 0 makes the same dataset: tasks must not take each other's work for theirs
/// otherwise.
void check_same_command(const Json& begun, const Json& now) {
  const std::string differs = difference(begun.value("identity", Json::object()), now);
  if (differs.empty()) return;
  throw Error(ErrorKind::usage, fmt::format("this task's command differs from that of task 0 ({})", differs),
              "start all tasks with the same command, or use --no-share-tasks to let each task work alone");
}

/// Returns whether a name is temporary, so that its file is incomplete.
bool is_half_written(const std::string& name) {
  return name.starts_with('.');
}

bool is_spool(const std::string& name) {
  return name.starts_with(spool_prefix);
}

/// Returns whether dt creates the name in the folder of a dataset in progress, or in its spool.
bool is_ours(const std::string& name) {
  return name == lock_name || name == begun_name || name == dataset_file_name ||
         name == tokenizer_file_name ||
         std::ranges::find(tokenizer_config_names, name) != tokenizer_config_names.end() ||
         is_half_written(name) || is_spool(name) || name.ends_with(".h5") || name.ends_with(".spool") ||
         name.ends_with(".digests");
}

/// Removes entries. An entry that dt did not make must not become part of the dataset.
/// Errors: environment if an entry stays.
void remove_in(const OwnedFolder& folder, const std::function<bool(const std::string& name)>& which) {
  for (const std::string& name : folder.names()) {
    if (!which(name) || name.starts_with(nfs_prefix)) continue;
    if (const std::string why = folder.remove_tree(name, is_ours); !why.empty())
      throw Error(ErrorKind::environment, fmt::format("cannot remove {}", why),
                  fmt::format("inspect {}, then delete it", folder.path().string()));
  }
}

}  // namespace

UnfinishedDataset::UnfinishedDataset(const fs::path& folder, const DatasetIdentity& identity, bool resumes,
                                     const std::string& step, const ReadAccess& readers)
    : directory_(AtomicDirectory::partial(folder)), spool_(spool_in(path(), json_of(identity))) {
  const OwnedFolder& own = directory_.folder();
  restrict_readers(path(), readers);
  lock(folder);
  const Json now = json_of(identity);
  const Json begun = read_begun(own);
  const std::string spool_name = spool().filename();
  if (resumes && begun.is_object()) {
    check_same(path(), begun, now);
    remove_in(own, is_half_written);
    remove_in(own.open_or_create_folder(spool_name), is_half_written);
  } else {
    remove_in(own, [](const std::string& name) { return name != lock_name; });
    own.open_or_create_folder(spool_name);
  }
  if (!resumes) directory_.discard_on_destruction();  // the folder now contains only dt's own files
  write_file_atomically(path() / begun_name, Json({{"identity", now}, {"step", step}}).dump());
}

/// Takes the lock. A process that was killed a moment ago may still hold it.
void UnfinishedDataset::lock(const fs::path& folder) {
  for (const double give_up = monotonic_s() + dying_s;;) {
    if (lock_.try_lock(path() / lock_name) != FileLock::Outcome::busy) return;
    if (monotonic_s() > give_up) break;
    std::this_thread::sleep_for(poll_time);
  }
  throw Error(ErrorKind::environment, fmt::format("another process is writing {}", folder.string()),
              "wait until it ends, or stop it");
}

/// Commits the dataset. Removes begun.json first, so that no other task finds the folder and begins
/// a range.
void UnfinishedDataset::commit(bool overwrite) {
  const OwnedFolder& own = directory_.folder();
  own.remove(begun_name);
  remove_in(own, [](const std::string& name) {
    return name == lock_name || is_spool(name) || is_half_written(name);
  });
  directory_.commit(overwrite);
}

std::optional<fs::path> UnfinishedDataset::join(const fs::path& folder, const DatasetIdentity& identity,
                                                bool resumes, const std::string& step, double wait_s,
                                                const std::function<void()>& idle) {
  const fs::path path = partial_path(folder);
  const Json now = json_of(identity);
  for (const double give_up = monotonic_s() + wait_s; monotonic_s() < give_up;) {
    const auto own = OwnedFolder::open_if_exists(path);
    const Json begun = own ? read_begun(*own) : Json();
    const bool is_ours = begun.is_object() && begun.value("step", "") == step;
    if (is_ours) {
      check_same_command(begun, now);
      return spool_in(path, now);
    }
    if (resumes && begun.is_object()) check_same(path, begun, now);
    idle();
    std::this_thread::sleep_for(poll_time);
  }
  return std::nullopt;
}

}  // namespace dt::data
