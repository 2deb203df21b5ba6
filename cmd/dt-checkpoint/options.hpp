#pragma once
// The options of dt-checkpoint.

#include <optional>
#include <string>
#include <vector>

#include "base/cli/options.hpp"
#include "base/cli/tasks.hpp"

namespace dt::checkpoint_tool {

struct Options {
  std::vector<std::string> arguments;      // command, then its paths
  std::optional<std::int64_t> keep_last;   // for prune
  std::optional<std::int64_t> keep_every;  // for prune
  bool dry_run = false;                    // for prune
  std::optional<std::string> from;         // for repair
  std::optional<std::string> layout;       // for reshard
  bool overwrite = false;                  // for reshard
  std::optional<bool> share_tasks;

  Task task;  // from --share-tasks and the launcher
};

/// Returns the table. Its check rejects unknown commands and wrong numbers of paths (usage errors).
OptionTable make_options(Options& options);

}  // namespace dt::checkpoint_tool
