#pragma once
// The record of starts that found a checkpoint damaged. It lies beside the checkpoint, so that
// later starts need not read the checkpoint again. See FORMATS.md.

#include <cstddef>
#include <filesystem>
#include <string>

namespace dt::run {

namespace fs = std::filesystem;

/// Number of starts after which a damaged checkpoint is set aside: no resume chooses it by itself.
inline constexpr std::size_t max_failed_loads = 3;

inline constexpr const char* failed_loads_suffix = ".failed-loads.jsonl";

/// Returns the record's path for a checkpoint under its final name.
fs::path failed_loads_path(const fs::path& checkpoint);

/// Adds a line to the record. Does nothing if the checkpoint is gone or set aside. Only damage
/// counts: a start that is killed while it loads, or whose machine fails, leaves no line.
/// Errors: environment.
/// Thread safety: any number of processes may add lines at once.
/// After a crash: the line is there, or a torn line, which does not count, or none.
void record_failed_load(const fs::path& checkpoint, const std::string& reason);

/// Returns "" below max_failed_loads. Otherwise returns since when and why the checkpoint is set
/// aside, and how to restore it.
std::string why_set_aside(const fs::path& checkpoint);

/// Removes the record after the checkpoint has loaded or been repaired, so that it counts like any
/// other.
/// Errors: environment.
void clear_failed_loads(const fs::path& checkpoint);

}  // namespace dt::run
