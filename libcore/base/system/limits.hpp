#pragma once
// Limits that the system sets for this process and its cgroups: memory, processor time, processes
// and threads. A Slurm job or a container is a cgroup. `root` is the root of the file system that
// holds /proc and /sys.
// Source: cgroups(7), proc_pid_mountinfo(5).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace dt {

/// Returns the lowest memory limit of this process's cgroups and their ancestors. The limit also
/// covers the other processes in them. Reads memory.max (version 2) or memory.limit_in_bytes
/// (version 1). Returns none if no limit applies or none can be read.
std::optional<std::uint64_t> cgroup_memory_bytes(const std::string& root = "/");

/// The processor time that the tightest of these cgroups grants to all its processes together.
struct CpuQuota {
  double cpus;        // processor seconds per second
  std::string group;  // cgroup's identity; processes that share the quota have the same value
};
/// Returns the quota from cpu.max (version 2) or cpu.cfs_quota_us and cpu.cfs_period_us (version
/// 1). Returns none if no quota applies.
std::optional<CpuQuota> cgroup_cpu_quota(const std::string& root = "/");

/// The limit on processes and threads in the tightest of these cgroups, and their present number.
struct PidsLimit {
  std::uint64_t max;
  std::uint64_t current;
};
/// Returns the limit from pids.max and pids.current, or none if no limit applies.
std::optional<PidsLimit> cgroup_pids(const std::string& root = "/");

/// Returns the limits on threads that apply to this process, with the names under which they are
/// set. Returns "" if none is known.
std::string describe_thread_limits();

/// Returns the environment error about a thread that could not be started, with the limits as its
/// remedy. `count` is the number of threads wanted, or 0 if unknown.
Error thread_error(int error_number, int count = 0);

/// Threads that sleep until the object's destruction. They prove that the system grants that many
/// in addition to the process's other threads. libgomp ends a process that cannot start a thread,
/// so dt tries first.
/// Errors: environment.
class ReservedThreads {
 public:
  explicit ReservedThreads(int count);
  ~ReservedThreads();
  ReservedThreads(const ReservedThreads&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Checks that `count` threads can run at a time by starting and joining them.
/// Errors: environment.
inline void require_threads(int count) {
  const ReservedThreads held(count);
}

}  // namespace dt
