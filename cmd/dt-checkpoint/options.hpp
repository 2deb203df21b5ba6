#pragma once
// The options of dt-checkpoint and its commands.

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "base/cli/manual.hpp"
#include "base/cli/options.hpp"
#include "base/cli/tasks.hpp"
#include "base/system/signals.hpp"
#include "base/text/enum_names.hpp"

namespace dt::checkpoint {
struct Problem;
}

namespace dt::checkpoint_tool {

enum class Command { list, show, verify, latest, diff, reshard, prune, import_model, repair };
constexpr auto enum_names(Command) {
  using enum Command;
  return std::to_array<EnumName<Command>>({{"list", list},
                                           {"show", show},
                                           {"verify", verify},
                                           {"latest", latest},
                                           {"diff", diff},
                                           {"reshard", reshard},
                                           {"prune", prune},
                                           {"import", import_model},
                                           {"repair", repair}});
}

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

/// Runs the command that the options name, and returns the exit code.
int run(const Options& options, Console& console);

// The commands. Each writes its data to stdout and returns the exit code.
int list(const std::string& run, Console& console);
int show(const std::string& checkpoint, Console& console);
int verify(const std::vector<std::string>& checkpoints, Task task, Console& console);
int latest(const std::string& run, Console& console);
int diff(const std::string& a, const std::string& b, Console& console);

// Commands that write throw Interrupted once a signal asks them to stop, and leave no hidden file.
int prune(const Options& options, const StopSignals& signals, Console& console);
int import_model(const Options& options, const StopSignals& signals, Console& console);
int repair(const Options& options, const StopSignals& signals, Console& console);
int reshard(const Options& options, const StopSignals& signals, Console& console);

/// Returns the size of all files in a checkpoint's manifest, or 0 if the manifest cannot be read.
std::uint64_t manifest_bytes(const std::string& checkpoint);

/// Returns the problems as verify and repair print them with --json.
nlohmann::ordered_json problems_json(std::span<const checkpoint::Problem> problems);

/// Returns the prose of the man page.
Manual manual();

}  // namespace dt::checkpoint_tool
