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
/// How many threads can run at a time: as many as there are such cores, or as a cgroup's quota of processor
/// time lasts for, rounded up.
int available_cores();
/// "" or, where OMP_NUM_THREADS asks for another number of threads than `threads`, that it is not followed.
std::string describe_ignored_omp_num_threads(int threads);
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
/// How many of those are on this host; 0 where the launcher does not tell, or there is none.
int launched_ranks_on_host();
/// Seconds on a clock that only goes forward.
double monotonic_s();
/// "2026-01-31T12:00:00Z"
std::string utc_timestamp();

}  // namespace dt
