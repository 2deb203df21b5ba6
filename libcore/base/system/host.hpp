#pragma once
// The host of this process: its cores and their NUMA domains, memory, launcher and clocks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

std::string host_name();
/// Returns the numbers of the cores in this process's affinity mask, as set by Slurm or taskset.
std::vector<int> available_core_numbers();
/// Returns how many threads can run at a time. This is the number of cores in the affinity mask, or
/// less under a cgroup's quota of processor time (rounded up).
int available_cores();
/// Returns a message if OMP_NUM_THREADS asks for a number of threads other than `threads`, else "".
/// dt ignores the variable.
std::string describe_ignored_omp_num_threads(int threads);
std::uint64_t peak_resident_bytes();
/// Makes present resident memory the peak. Does nothing if the system does not permit it.
void reset_peak_resident();
/// Returns the memory that this process shares with the other processes of its host or cgroup: the
/// host's memory, or less if a cgroup limits it.
std::uint64_t usable_memory_bytes();
std::optional<std::string> environment_variable(const char* name);
/// Returns this process's rank among those that mpirun, mpiexec or srun started together, as the
/// environment tells before any communication. Returns 0 without a launcher.
int launcher_rank();
/// Returns how many processes of the same launch run on this host. Returns 0 if the launcher does
/// not tell, or there is none.
int launcher_local_size();
/// Returns seconds on a monotonic clock.
double monotonic_s();
/// Returns the time as "2026-01-31T12:00:00Z".
std::string utc_timestamp();

/// Returns the cores in a Linux list: "0-3,8" is 0, 1, 2, 3, 8. Returns none for any other text.
std::vector<int> parse_core_list(const std::string& text);

/// Returns the NUMA domains of the cores, in order, as the folders node0, node1, … of `nodes` tell.
/// Returns none if the system does not tell.
std::vector<int> numa_domains(const std::vector<int>& cores,
                              const std::string& nodes = "/sys/devices/system/node");

/// Returns the NUMA domain that a PCI device, such as "0000:C1:00.0", is near to. Returns −1 if the
/// system does not tell.
int numa_domain_of_pci(const std::string& address, const std::string& devices = "/sys/bus/pci/devices");

}  // namespace dt
