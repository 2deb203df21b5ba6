#pragma once
// What dt-checkpoint can be asked.

#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/tasks.hpp"

namespace dt::checkpoint_tool {

struct Options {
  std::vector<std::string> arguments;      // the command, then the paths that it takes
  std::optional<std::int64_t> keep_last;   // of prune
  std::optional<std::int64_t> keep_every;  // of prune
  bool dry_run = false;                    // of prune
  std::optional<std::string> from;         // of repair
  std::optional<std::string> layout;       // of reshard
  bool overwrite = false;                  // of reshard
  std::optional<bool> share_tasks;

  Task task;  // as --share-tasks and the launcher say
};

/// Its check refuses unknown commands and wrong numbers of paths (usage errors).
OptionTable make_options(Options& options);

}  // namespace dt::checkpoint_tool
