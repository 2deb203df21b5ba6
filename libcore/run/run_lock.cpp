#include <cerrno>
#include <chrono>
#include <optional>
#include <sys/stat.h>
#include <thread>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

namespace {

using Outcome = FileLock::Outcome;

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
                fmt::format("another dt-train in {} has withdrawn generation {}, which was not held yet",
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
    what = "is gone";
  } else if (!is_same_file(file_, *found)) {
    FileLock probe;
    if (read_file(path_) != claim_)
      what = "is another start's";
    else if (probe.try_lock(lock_path_, Owner::anyone) == Outcome::acquired)
      what = "is a copy";
  }
  if (what.empty()) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("{} {}: the run's folder has been moved or replaced while this job trains", path_.string(),
                  what),
      "nothing is saved there; what this job has saved is where the folder went: start again with --run "
      "naming that");
}

}  // namespace dt::run
