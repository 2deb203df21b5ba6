#pragma once
// The commands of dt-checkpoint. Each writes its data to stdout and returns the exit code.

#include <string>
#include <vector>

#include "base/console.hpp"
#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

int run(const Options& options, Console& console);

int list(const std::string& run, Console& console);
int show(const std::string& checkpoint, Console& console);
int verify(const std::vector<std::string>& checkpoints, Console& console);
int latest(const std::string& run, Console& console);
int diff(const std::string& a, const std::string& b, Console& console);
int reshard(const std::string& checkpoint, const std::string& out, const std::string& layout, bool overwrite,
            Console& console);

}  // namespace dt::checkpoint_tool
