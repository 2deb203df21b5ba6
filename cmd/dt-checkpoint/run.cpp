#include <array>

#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

namespace {

/// A command that changes files, and a description of what remains if a signal stops it.
struct WritingCommand {
  Command command;
  int (*run)(const Options&, const StopSignals&, Console&);
  const char* left;
};

constexpr std::array<WritingCommand, 4> writing = {
    {{Command::prune, prune, "checkpoints that are not listed as removed are unchanged"},
     {Command::import_model, import_model, "the output was not written"},
     {Command::repair, repair, "parts not yet repaired are unchanged; run the same command to continue"},
     {Command::reshard, reshard, "the output was not written"}}};

int run_writing(const WritingCommand& command, const Options& options, Console& console) {
  try {
    const StopSignals signals;
    return command.run(options, signals, console);
  } catch (const Interrupted& interrupted) {
    console.error("stopped by {}; {}", signal_name(interrupted.signal), command.left);
    return interrupted.exit_code();
  }
}

}  // namespace

int run(const Options& options, Console& console) {
  const auto command = parse_name<Command>(options.arguments.at(0)).value();
  const std::vector<std::string> paths(options.arguments.begin() + 1, options.arguments.end());
  if (command == Command::verify) return verify(paths, options.task, console);
  if (command == Command::list) return list(paths[0], console);
  if (command == Command::show) return show(paths[0], console);
  if (command == Command::latest) return latest(paths[0], console);
  if (command == Command::diff) return diff(paths[0], paths[1], console);
  if (is_idle_task(options.task, console)) return 0;
  for (const WritingCommand& candidate : writing) {
    if (command == candidate.command) return run_writing(candidate, options, console);
  }
  throw Error(ErrorKind::internal, fmt::format("no function runs the command '{}'", name_of(command)));
}

}  // namespace dt::checkpoint_tool
