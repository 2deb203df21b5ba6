#include "cmd/dt-checkpoint/run.hpp"

#include "base/error.hpp"
#include "cmd/dt-checkpoint/tasks.hpp"

namespace dt::checkpoint_tool {

int run(const Options& options, Console& console) {
  const std::string& command = options.arguments.at(0);
  const std::vector<std::string> paths(options.arguments.begin() + 1, options.arguments.end());
  if (command == "verify") return verify(paths, this_task(), console);
  if (command == "list") return list(paths[0], console);
  if (command == "show") return show(paths[0], console);
  if (command == "latest") return latest(paths[0], console);
  if (command == "diff") return diff(paths[0], paths[1], console);
  if (this_task().number != 0) return 0;  // what writes and cannot be shared is one task's business
  if (command == "prune") return prune(options, console);
  if (command == "import") return import_model(paths[0], paths[1], console);
  if (command == "repair") return repair(paths[0], options.from.value(), console);
  if (command == "reshard")
    return reshard(paths[0], paths[1], options.layout.value(), options.overwrite, console);
  throw Error(ErrorKind::internal, fmt::format("the command '{}' has no code", command));
}

}  // namespace dt::checkpoint_tool
