#pragma once
// What the system grants a group of processes: Slurm's job, a container.

#include <cstdint>
#include <filesystem>
#include <optional>

namespace dt {

/// The most memory that this process's cgroups, and those that they lie in, let it have together with their
/// other processes (memory.max of version 2, memory.limit_in_bytes of version 1); none where nothing bounds
/// it, or nothing can be known. `root` is where the system's files are. Source: cgroups(7),
/// proc_pid_mountinfo(5).
std::optional<std::uint64_t> cgroup_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace dt
