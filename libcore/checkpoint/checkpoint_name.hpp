#pragma once
// Names of checkpoints. A name contains the step, and the generation of the run that saved it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dt::checkpoint {

namespace fs = std::filesystem;

/// Returns a name such as "step-00001000.g3".
std::string checkpoint_name(std::int64_t step, std::int64_t generation);

struct CheckpointEntry {
  fs::path path;
  std::int64_t step = 0;
  std::int64_t generation = 0;
};

/// Parses a name such as "step-00001000.g3". Returns none for any other name.
std::optional<CheckpointEntry> parse_checkpoint_name(const fs::path& path);

}  // namespace dt::checkpoint
