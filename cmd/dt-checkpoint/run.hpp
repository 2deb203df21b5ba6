#pragma once
// The commands of dt-checkpoint. Each writes its data to stdout and returns the exit code.

#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "base/cli/tasks.hpp"
#include "base/system/signals.hpp"
#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

int run(const Options& options, Console& console);

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

}  // namespace dt::checkpoint_tool
