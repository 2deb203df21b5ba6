#pragma once
// What this process runs on.

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

std::string host_name();
/// Cores that this process may use (its affinity mask, as Slurm or taskset set it).
int available_cores();
std::uint64_t peak_resident_bytes();
std::uint64_t physical_memory_bytes();
std::optional<std::string> environment_variable(const char* name);
/// Seconds on a clock that only goes forward.
double monotonic_s();
/// "2026-01-31T12:00:00Z"
std::string utc_timestamp();

}  // namespace dt
