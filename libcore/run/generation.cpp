#include "run/generation.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/system/host.hpp"
#include "base/text/utf8.hpp"
#include "comm/topology/environment.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

namespace {

using Outcome = FileLock::Outcome;

constexpr const char* format_name = "dt-generation";
constexpr std::int64_t format_version = 1;

std::string to_text(const Generation& g, const comm::EnvironmentSettings& environment) {
  const nlohmann::ordered_json object = {{"format", format_name},
                                         {"version", format_version},
                                         {"generation", g.number},
                                         {"continues", escape_invalid_utf8(g.continues)},
                                         {"continues_step", g.continues_step},
                                         {"started", g.started},
                                         {"host", g.host},
                                         {"process", g.process},
                                         {"folder", escape_invalid_utf8(g.folder)},
                                         {"slurm_job", g.slurm_job},
                                         {"slurm_restarts", g.slurm_restarts},
                                         {"environment", environment}};
  return object.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Generation parse_generation(const std::string& text, const std::string& origin) {
  const JsonValue o = JsonValue::parse_object(
      text, {origin, "the run directory is damaged: emptying this file withdraws the claim"});
  if (o.string("format") != format_name || o.integer("version") != format_version) {
    throw Error(
        ErrorKind::input,
        fmt::format("{} has format '{}', version {}", origin, o.string("format"), o.integer("version")),
        fmt::format("this dt reads '{}', version {}", format_name, format_version));
  }
  Generation g;
  g.number = o.integer("generation", 1, INT64_MAX - 1);
  g.continues = unescape_bytes(o.string("continues"));
  g.continues_step = o.integer("continues_step", 0, INT64_MAX - 1);
  g.started = o.string("started");
  g.host = o.string("host");
  g.process = o.integer("process");
  if (o.has("folder")) g.folder = unescape_bytes(o.string("folder"));
  g.slurm_job = o.string("slurm_job");
  g.slurm_restarts = o.string("slurm_restarts");
  return g;
}

std::string file_name(std::int64_t number) {
  return fmt::format("{:04}.json", number);
}

std::string lock_name(std::int64_t number) {
  return fmt::format("{:04}.lock", number);
}

/// Returns the generation's number, or 0 if the name is not a generation file's.
std::int64_t number_of(const std::string& name) {
  std::int64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number > 0 && file_name(number) == name ? number : 0;
}

std::int64_t restarts(const std::string& text) {
  std::int64_t count = 0;  // Slurm leaves the variable unset before the first requeue
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

/// Returns whether a process holds the lock. Only the generation's own process holds it for longer
/// than an instant.
bool is_locked(const fs::path& path) {
  FileLock probe;
  return probe.try_lock(path, Owner::anyone) == FileLock::Outcome::busy;
}

/// Takes the lock. Returns false, too, if this user may not open the lock file of another member of
/// the group.
bool takes(FileLock& lock, const fs::path& path) {
  try {
    return lock.try_lock(path, Owner::anyone) == FileLock::Outcome::acquired;
  } catch (const Error& error) {
    if (error.error_number() != EACCES) throw;
    return false;
  }
}

bool is_another_users(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid();
}

/// Empties the file of a claim. Its name stays all the while: otherwise another start could take the number,
/// and a reader would not find what it has listed.
void empty_claim(const fs::path& path) {
  File file = File::open_write(path);
  if (::ftruncate(file.descriptor(), 0) != 0) throw system_error(errno, "empty", path.string());
  file.sync();
  file.close();
}

/// Returns whether the file's generation is a later life of the Slurm job of `own`.
bool is_of_later_life(const fs::path& path, const Generation& own) {
  try {
    return own.is_earlier_life_of(parse_generation(read_file(path), path.string()));
  } catch (const Error&) {  // withdrawn just now, or damaged; the run's holder need not care
    return false;
  }
}

std::vector<std::int64_t> claimed_numbers(const fs::path& folder) {
  std::vector<std::int64_t> numbers;
  for (const fs::path& path : entries_of(folder)) {
    if (const std::int64_t number = number_of(path.filename().string())) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Returns this process's start, before it has claimed a number.
Generation this_start() {
  Generation own;
  own.started = utc_timestamp();
  own.host = host_name();
  own.process = ::getpid();
  own.slurm_job = environment_variable("SLURM_JOB_ID").value_or("");
  own.slurm_restarts = environment_variable("SLURM_RESTART_COUNT").value_or("");
  return own;
}

/// Waits for a lock that other starts' probes hold for an instant. A running start holds it longer.
template <class TryLock>
Outcome wait_for_probes(double timeout_s, TryLock try_lock) {
  const double end_s = monotonic_s() + timeout_s;
  for (;;) {
    const Outcome outcome = try_lock();
    if (outcome != Outcome::busy || monotonic_s() > end_s) return outcome;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Returns whether the start is alive. A member of a group may be unable to open another user's
/// lock file. The start also holds a lock on its generation's file.
bool is_held(const RunDirectory& run, std::int64_t number, double timeout_s) {
  const fs::path path = run.generation_lock_path(number);
  FileLock probe;
  const auto try_lock = [&] {
    try {
      return probe.try_lock(path, Owner::anyone);
    } catch (const Error& error) {
      if (error.error_number() != EACCES) throw;
      return probe.try_lock_shared(run.generation_path(number));
    }
  };
  return wait_for_probes(timeout_s, try_lock) == Outcome::busy;
}

/// Returns whether `holder` is an earlier life of this Slurm job. After a requeue its processes may
/// still run on a node that Slurm lost.
bool is_earlier_life(const Generation& holder) {
  Generation own;
  own.slurm_job = environment_variable("SLURM_JOB_ID").value_or("");
  own.slurm_restarts = environment_variable("SLURM_RESTART_COUNT").value_or("");
  return holder.is_earlier_life_of(own);
}

/// Returns whether two open files are the same file.
bool is_same_file(const File& a, const File& b) {
  struct stat of_a {
  }, of_b{};
  if (::fstat(a.descriptor(), &of_a) != 0) throw system_error(errno, "inspect", a.path().string());
  if (::fstat(b.descriptor(), &of_b) != 0) throw system_error(errno, "inspect", b.path().string());
  return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/// Opens the file, or returns none if the path leads nowhere.
std::optional<File> open_if_there(const fs::path& path) {
  try {
    return File::open_read(path);
  } catch (const Error&) {
    std::error_code error;
    if (fs::exists(path, error) || error) throw;
    return std::nullopt;
  }
}

Error alive_error(const RunDirectory& run, const Generation& holder) {
  return Error(ErrorKind::environment,
               fmt::format("another dt-train is running in {}: {}", run.path().string(), describe(holder)),
               "wait for it to end, stop it, or use another run directory");
}

}  // namespace

std::string describe(const Generation& g) {
  const std::string job = g.slurm_job.empty() ? "" : ", Slurm job " + g.slurm_job;
  return fmt::format("generation {}, process {} on {}{}, since {}", g.number, g.process, g.host, job,
                     g.started);
}

bool Generation::is_earlier_life_of(const Generation& other) const {
  return !slurm_job.empty() && slurm_job == other.slurm_job &&
         restarts(slurm_restarts) < restarts(other.slurm_restarts);
}

bool is_newer(const checkpoint::CheckpointEntry& a, const checkpoint::CheckpointEntry& b) {
  return a.generation != b.generation ? a.generation > b.generation : a.step > b.step;
}

fs::path RunDirectory::generation_path(std::int64_t number) const {
  return generations_path() / file_name(number);
}

fs::path RunDirectory::generation_lock_path(std::int64_t number) const {
  const fs::path path = generations_path() / lock_name(number);
  return path_exists(path) ? path : generation_path(number);
}

std::vector<Generation> RunDirectory::generations() const {
  std::vector<Generation> result;
  for (const std::int64_t number : claimed_numbers(generations_path())) {
    const fs::path path = generation_path(number);
    const std::string text = read_file(path);
    if (text.empty()) continue;  // withdrawn
    result.push_back(parse_generation(text, path.string()));
    if (result.back().number != number) {
      throw input_error("{} says that it is generation {}", path.string(), result.back().number);
    }
  }
  return result;
}

std::vector<std::int64_t> RunDirectory::earlier_lives() const {
  const Generation own = this_start();
  std::vector<std::int64_t> numbers;
  for (const Generation& g : generations()) {
    if (g.is_earlier_life_of(own)) numbers.push_back(g.number);
  }
  return numbers;
}

Generation RunDirectory::claim(const std::string& continues, std::int64_t continues_step) const {
  Generation own = this_start();
  own.folder = fs::canonical(path_).string();
  own.continues = continues;
  own.continues_step = continues_step;
  const std::vector<std::int64_t> taken = claimed_numbers(generations_path());
  own.number = taken.empty() ? 1 : taken.back() + 1;
  // A generation's file may be lost while its checkpoints exist. Their names must stay unique.
  for (const checkpoint::CheckpointEntry& entry : checkpoints())
    own.number = std::max(own.number, entry.generation + 1);
  const comm::EnvironmentSettings environment = comm::environment_settings();
  create_folders(generations_path());
  for (;; ++own.number) {
    const fs::path lock = generations_path() / lock_name(own.number);
    try {
      FileLock().try_lock(lock, Owner::anyone);  // creates the file
    } catch (const Error& error) {
      if (error.error_number() != EACCES || !is_another_users(lock)) throw;
      continue;  // the claim is not there yet, or never came
    }
    if (create_file_exclusively(generation_path(own.number), to_text(own, environment))) break;
  }
  return own;
}

bool RunDirectory::is_superseded(const Generation& own) const {
  std::error_code error;
  for (std::int64_t number = own.number + 1;; ++number) {
    const fs::path path = generation_path(number);
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error) return false;
    if (bytes == 0) continue;  // withdrawn
    if (is_of_later_life(path, own) || !is_locked(generation_lock_path(own.number))) return true;
  }
}

void RunDirectory::withdraw_abandoned(const Generation& own) const {
  std::optional<std::vector<checkpoint::CheckpointEntry>> saved;  // listed only if there is a newer claim
  for (const std::int64_t number : claimed_numbers(generations_path())) {
    const fs::path path = generation_path(number);
    if (number <= own.number || read_file(path).empty() || is_of_later_life(path, own)) continue;
    if (!is_locked(generation_lock_path(own.number))) return;
    if (!saved) saved = checkpoints();
    // A start that saved under the claim held the run at another time, since locks can be lost with
    // their server.
    if (std::any_of(saved->begin(), saved->end(), [&](const auto& c) { return c.generation == number; }))
      continue;
    FileLock held;
    if (takes(held, generation_lock_path(number))) empty_claim(path);
  }
}

void RunDirectory::withdraw(const Generation& own) const {
  empty_claim(generation_path(own.number));
}

void RunLock::require_not_held(const RunDirectory& run) {
  constexpr double timeout_s = 0.5;
  // If several starts met, the error names the lowest number that stays held.
  for (const Generation& other : run.generations()) {
    if (!is_earlier_life(other) && is_held(run, other.number, timeout_s)) throw alive_error(run, other);
  }
}

RunLock::RunLock(const RunDirectory& run, const Generation& own) {
  try {
    acquire(run, own);
  } catch (...) {
    // A claim that stays would lead later starts past the checkpoints that the run's holder saves.
    try {
      run.withdraw(own);
    } catch (const Error&) {  // the holder withdraws the claim before it saves
    }
    throw;
  }
}

void RunLock::acquire(const RunDirectory& run, const Generation& own) {
  constexpr double timeout_s = 2;  // for a start that is about to withdraw
  lock_path_ = run.generation_lock_path(own.number);
  const Outcome outcome =
      wait_for_probes(timeout_s, [&] { return lock_.try_lock(lock_path_, Owner::anyone); });
  if (outcome == Outcome::busy)
    throw Error(
        ErrorKind::environment,
        fmt::format("another process holds {}, the lock of this start", lock_path_.string()),
        "only processes that may write to the run can hold it: find that process (fuser) and stop it");
  is_supported_ = outcome == Outcome::acquired;
  path_ = run.generation_path(own.number);
  file_ = File::open_read(path_);
  claim_ = read_file(path_);
  if (!is_supported_) return;
  if (lock_path_ != path_) {  // a reader may hold this lock, which does no harm
    constexpr double older_patience_s = 0.2;
    wait_for_probes(older_patience_s, [&] { return older_lock_.try_lock(path_, Owner::anyone); });
  }
  if (read_file(run.generation_path(own.number)).empty())
    throw Error(ErrorKind::environment,
                fmt::format("another dt-train in {} withdrew generation {} before it was locked",
                            run.path().string(), own.number),
                "wait for it to end, stop it, or use another run directory");
  for (const Generation& other : run.generations()) {
    const bool yields = other.number > own.number || (other.number < own.number && !is_earlier_life(other) &&
                                                      is_held(run, other.number, timeout_s));
    if (!yields) continue;
    run.withdraw(own);
    lock_ = FileLock();
    require_not_held(run);
    throw alive_error(run, other);  // `other` has yet to lock its file
  }
}

void RunLock::check_still_held() const {
  std::string what;
  if (const std::optional<File> found = open_if_there(path_); !found) {
    what = "is missing";
  } else if (!is_same_file(file_, *found)) {
    FileLock probe;
    if (read_file(path_) != claim_)
      what = "belongs to another start";
    else if (probe.try_lock(lock_path_, Owner::anyone) == Outcome::acquired)
      what = "is a copy";
  }
  if (what.empty()) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("{} {}: the run directory was moved or replaced while this job trains", path_.string(),
                  what),
      "nothing more is saved; this job's checkpoints moved with the folder: start again with its new path "
      "as --run");
}

}  // namespace dt::run
