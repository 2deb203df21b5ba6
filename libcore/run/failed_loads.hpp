#pragma once
// How often a checkpoint was found damaged while a start loaded it: kept beside it, so that starts to come
// need not read it again. See FORMATS.md.

#include <cstddef>
#include <filesystem>
#include <string>

namespace dt::run {

namespace fs = std::filesystem;

/// Damage found by so many starts sets a checkpoint aside: no resume tries it of its own accord.
inline constexpr std::size_t max_failed_loads = 3;

inline constexpr const char* failed_loads_suffix = ".failed-loads.jsonl";

/// Of a checkpoint under its final name.
fs::path failed_loads_path(const fs::path& checkpoint);

/// Adds a line; nothing where the checkpoint is gone or set aside already. Any number of processes may do so
/// at once. Only damage counts: a start that is killed while it loads, or that the machine fails, leaves no
/// line. A crash leaves the line, a torn one, which does not count, or none. Errors: environment.
void record_failed_load(const fs::path& checkpoint, const std::string& reason);

/// "" below max_failed_loads; else since when it is set aside, why, and what brings it back.
std::string why_set_aside(const fs::path& checkpoint);

/// The checkpoint has loaded, or been repaired: it counts as any other again. Errors: environment.
void forget_failed_loads(const fs::path& checkpoint);

}  // namespace dt::run
