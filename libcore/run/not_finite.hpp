#pragma once
// Checkpoints whose weights gave a loss that is not finite: marked by a file beside them, so that no start
// goes on from them of its own accord. See FORMATS.md.

#include <cstdint>
#include <filesystem>
#include <string>

namespace dt::run {

namespace fs = std::filesystem;

inline constexpr const char* not_finite_suffix = ".not-finite.json";

/// The mark of a checkpoint under its final name.
fs::path not_finite_path(const fs::path& checkpoint);

/// What was computed from a checkpoint's weights.
struct NotFiniteLoss {
  double loss = 0;
  std::string found;  // for people: "the loss of step 21"
};

/// Marks a checkpoint, which may lie on nodes alone. After a crash there is the whole mark or none. Errors:
/// environment.
void mark_not_finite(const fs::path& checkpoint, const NotFiniteLoss& loss);

/// "" without a mark; else what was found, when, and how the checkpoint is taken all the same. A mark that
/// cannot be read is one.
std::string why_not_finite(const fs::path& checkpoint);

/// The weights have given a finite loss after all, or the checkpoint is gone. Errors: environment.
void forget_not_finite(const fs::path& checkpoint);

}  // namespace dt::run
