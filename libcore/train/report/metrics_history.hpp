#pragma once
// Reads what a start must know of a run's earlier lines in metrics.jsonl. Each call reads from the
// file's end and stops as soon as earlier lines cannot change its answer. See FORMATS.md.
//
// A line that is no JSON object is ignored, and so are bytes after the last newline. A file that
// does not exist has no lines.
//
// Errors: environment from every call if the file cannot be read.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "checkpoint/checkpoint_name.hpp"

namespace dt::train {

namespace fs = std::filesystem;

/// The kind of line that announces a local checkpoint.
inline constexpr const char* local_checkpoint_line_kind = "local_checkpoint";

/// Returns whether metrics.jsonl holds an evaluation of this step on the lineage of the newest
/// generation that has a line of its start. `newest_claimed` is the run's newest generation. Reading
/// can stop only once a line of it is met, since a start may write its line after a newer one did.
/// 0 stands for unknown.
bool has_evaluation(const fs::path& metrics, std::int64_t step, std::int64_t newest_claimed = 0);

/// Returns whether metrics.jsonl announces a local checkpoint.
bool has_announced_local_checkpoint(const fs::path& metrics);
/// Returns whether metrics.jsonl announces a local checkpoint of one of these generations.
bool has_announced_local_checkpoint(const fs::path& metrics, std::set<std::int64_t> generations);

/// Returns the announced local checkpoints, as their paths name them, from the last line to the
/// first. With `newest_known`, a checkpoint on the lineage of the run's newest generation, may leave
/// out those that are not newer than it on that lineage.
std::vector<checkpoint::CheckpointEntry> announced_local_checkpoints(
    const fs::path& metrics, const std::optional<checkpoint::CheckpointEntry>& newest_known = {});

}  // namespace dt::train
