// skip_collective FOLDER RANK TIMEOUT: runs ranks under mpirun that all-reduce together, until RANK
// stays out of an all-reduce while it lives on. The other ranks' watchdogs must name RANK and end
// the job.

#include <chrono>
#include <string>
#include <thread>

#include "base/cli/tool.hpp"
#include "comm/diagnostics/watchdog.hpp"
#include "comm/mpi/run_ranks.hpp"
#include "tensor/host_tensor.hpp"

int main(int argc, char** argv) {
  std::vector<std::string> arguments;
  dt::OptionTable options("skip_collective", "A rank that skips a collective.");
  options.positional(&arguments, "FOLDER RANK TIMEOUT", "");
  return dt::run_tool(argc, argv, options, [&](dt::Console& console) {
    return dt::comm::mpi::run_ranks("mpi", console, [&](const dt::comm::Ranks& ranks) {
      dt::comm::Communicator& world = ranks.world;
      const dt::comm::Watchdog watchdog({.folder = arguments.at(0),
                                         .start_name = "g1",
                                         .rank = world.rank(),
                                         .size = world.size(),
                                         .timeout_s = std::stod(arguments.at(2))},
                                        world.engine().shared_recorder(), ranks.abort);
      double value = 1;
      const dt::Tensor tensor = dt::host_tensor(value);
      for (int step = 1; step <= 7; ++step) {
        world.engine().recorder().set_step(step);
        if (step == 7 && world.rank() == std::stoi(arguments.at(1)))
          std::this_thread::sleep_for(std::chrono::hours(1));
        world.all_reduce(tensor, tensor).wait_host();
      }
      return 0;
    });
  });
}
