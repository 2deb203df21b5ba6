#pragma once
// Limits that the system sets for a group of processes: a Slurm job, a container. `root` is the
// root of the file system that holds /proc and /sys.
// Source: cgroups(7), proc_pid_mountinfo(5).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dt {

/// Returns the lowest memory limit of this process's cgroups and their ancestors. The limit also
/// covers the other processes in them. Reads memory.max (version 2) or memory.limit_in_bytes
/// (version 1). Returns none if no limit applies or none can be read.
std::optional<std::uint64_t> cgroup_memory_bytes(const std::filesystem::path& root = "/");

/// The processor time that the tightest of these cgroups grants to all its processes together.
struct CpuQuota {
  double cpus;        // processor seconds per second
  std::string group;  // cgroup's identity; processes that share the quota have the same value
};
/// Returns the quota from cpu.max (version 2) or cpu.cfs_quota_us and cpu.cfs_period_us (version
/// 1). Returns none if no quota applies.
std::optional<CpuQuota> cgroup_cpu_quota(const std::filesystem::path& root = "/");

/// The limit on processes and threads in the tightest of these cgroups, and their present number.
struct PidsLimit {
  std::uint64_t max;
  std::uint64_t current;
};
/// Returns the limit from pids.max and pids.current, or none if no limit applies.
std::optional<PidsLimit> cgroup_pids(const std::filesystem::path& root = "/");

}  // namespace dt
