#pragma once
// Marks on checkpoints whose weights gave a non-finite loss. A mark is a file beside the
// checkpoint. No start continues from a marked checkpoint by itself. See FORMATS.md.

#include <cstdint>
#include <filesystem>
#include <string>

namespace dt::run {

namespace fs = std::filesystem;

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
