#pragma once
// Records beside a checkpoint that keep starts from continuing from it: failed loads, and a loss that
// is not finite. See FORMATS.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace dt::run {

namespace fs = std::filesystem;

/// Number of starts after which a damaged checkpoint is set aside: no resume chooses it by itself.
inline constexpr std::size_t max_failed_loads = 3;

/// The record of starts that found a checkpoint damaged. It lies beside the checkpoint, so that later
/// starts need not read the checkpoint again.
inline constexpr const char* failed_loads_suffix = ".failed-loads.jsonl";

/// Returns the path of the record of failed loads for a checkpoint under its final name.
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

/// Marks on checkpoints whose weights gave a non-finite loss. A mark is a file beside the
/// checkpoint. No start continues from a marked checkpoint by itself.
inline constexpr const char* not_finite_suffix = ".not-finite.json";

/// Returns the path of a checkpoint's mark, given its final name.
fs::path not_finite_path(const fs::path& checkpoint);

/// A loss computed from a checkpoint's weights.
struct NotFiniteLoss {
  double loss = 0;
  std::string found;  // for people: "the loss of step 21"
};

/// Marks a checkpoint, which may exist only on nodes.
/// Errors: environment.
/// After a crash: the whole mark is there, or none.
void mark_not_finite(const fs::path& checkpoint, const NotFiniteLoss& loss);

/// Returns "" without a mark. Otherwise returns what was found, when, and how to use the checkpoint
/// all the same. An unreadable mark counts as a mark.
std::string why_not_finite(const fs::path& checkpoint);

/// Removes the mark, because the weights have given a finite loss after all or the checkpoint is
/// gone.
/// Errors: environment.
void clear_not_finite(const fs::path& checkpoint);

}  // namespace dt::run
