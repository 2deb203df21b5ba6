#pragma once
// The names of checkpoints, which say their step and the generation of the run that saved them.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dt::checkpoint {

namespace fs = std::filesystem;

/// "step-00001000.g3"
std::string checkpoint_name(std::int64_t step, std::int64_t generation);

struct CheckpointEntry {
  fs::path path;
  std::int64_t step = 0;
  std::int64_t generation = 0;
};

/// "step-00001000.g3" taken apart; nothing for any other name.
std::optional<CheckpointEntry> parse_checkpoint_name(const fs::path& path);

}  // namespace dt::checkpoint
