#pragma once
// What this process runs on.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

std::string host_name();
/// Cores that this process may use (its affinity mask, as Slurm or taskset set it), by number.
std::vector<int> available_core_numbers();
int available_cores();
std::uint64_t peak_resident_bytes();
/// What is resident now is the peak from here on; where the system does not let it, nothing changes.
void reset_peak_resident();
/// The memory that this process, with those beside it, may have: the host's, or less where a cgroup allows
/// less.
std::uint64_t usable_memory_bytes();
std::optional<std::string> environment_variable(const char* name);
/// This process's number among those that mpirun or srun started together, as they tell it before any
/// communication; 0 where they did not.
int launched_rank();
/// Seconds on a clock that only goes forward.
double monotonic_s();
/// "2026-01-31T12:00:00Z"
std::string utc_timestamp();

}  // namespace dt
