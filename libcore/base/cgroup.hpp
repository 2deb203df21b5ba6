#pragma once
// Limits that the system sets a group of processes: Slurm's job, a container. `root` is where the system's
// files are. Source: cgroups(7), proc_pid_mountinfo(5).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dt {

/// The most memory that this process's cgroups, and those that they lie in, let it have together with their
/// other processes (memory.max of version 2, memory.limit_in_bytes of version 1); none where nothing bounds
/// it, or nothing can be known.
std::optional<std::uint64_t> cgroup_memory_bytes(const std::filesystem::path& root = "/");

/// The processor time that the tightest of these cgroups grants its processes together.
struct CpuQuota {
  double cpus;        // seconds of processor time a second
  std::string group;  // which cgroup it is: processes that share it have the same
};
/// From cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1; none where nothing bounds
/// it.
std::optional<CpuQuota> cgroup_cpu_quota(const std::filesystem::path& root = "/");

/// Processes and threads that the tightest of these cgroups may have, and has.
struct PidsLimit {
  std::uint64_t max;
  std::uint64_t current;
};
/// From pids.max and pids.current; none where nothing bounds them.
std::optional<PidsLimit> cgroup_pids(const std::filesystem::path& root = "/");

}  // namespace dt
