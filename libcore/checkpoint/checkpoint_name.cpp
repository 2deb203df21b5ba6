#include "checkpoint/checkpoint_name.hpp"

#include <charconv>
#include <fmt/format.h>

namespace dt::checkpoint {

std::string checkpoint_name(std::int64_t step, std::int64_t generation) {
  return fmt::format("step-{:08}.g{}", step, generation);
}

std::optional<CheckpointEntry> parse_checkpoint_name(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t dot = name.find(".g");
  if (!name.starts_with("step-") || dot == std::string::npos) return std::nullopt;
  CheckpointEntry entry{path, -1, -1};
  std::from_chars(name.data() + 5, name.data() + dot, entry.step);
  std::from_chars(name.data() + dot + 2, name.data() + name.size(), entry.generation);
  if (entry.step < 0 || entry.generation < 0) return std::nullopt;
  if (checkpoint_name(entry.step, entry.generation) != name) return std::nullopt;
  return entry;
}

}  // namespace dt::checkpoint
