#include "comm/mpi/run_ranks.hpp"

#include <charconv>
#include <cstdlib>

#include "base/system/host.hpp"
#include "base/text/suggest.hpp"
#include "comm/exchange.hpp"
#include "comm/mpi/launcher.hpp"
#include "comm/mpi/world.hpp"
#include "comm/threads/thread_group.hpp"

namespace dt::comm::mpi {

namespace {

constexpr int max_threads = 1024;

int number_of_threads(const std::string& choice) {
  const std::string prefix = "threads=";
  int number = 0;
  if (choice.starts_with(prefix)) {
    const char* end = choice.data() + choice.size();
    const auto parsed = std::from_chars(choice.data() + prefix.size(), end, number);
    if (parsed.ptr != end) number = 0;
  }
  if (number < 1 || number > max_threads) {
    throw Error(ErrorKind::usage, fmt::format("--comm {} is not valid", choice),
                did_you_mean(choice, std::vector<std::string>{"self", "threads=", "mpi", "nccl"}) +
                    fmt::format("allowed: self, threads=N (1 to {}), mpi, nccl", max_threads));
  }
  return number;
}

int run_as_threads(int number, Console& console, const std::function<int(const Ranks&)>& body) {
  return run_threads(number, [&](Communicator& world) {
    Console own(console, world.rank());
    const auto abort = [&own](const Error& error) {
      own.error("{}", error.message());
      std::_Exit(error.exit_code());
    };
    return body({world, own, abort, false});
  });
}

int run_as_processes(Console& console, const std::function<int(const Ranks&)>& body, Threads threads,
                     NcclPolicy streams, const std::string& to_work_alone) {
  std::optional<World> mpi;
  try {
    mpi.emplace(threads, to_work_alone);
  } catch (const Error& error) {
    if (launcher_rank() != 0) return error.exit_code();  // rank 0 reports the same
    throw;
  }
  Communicator& world = mpi->communicator();
  Console own(console, world.rank());
  const auto abort = [&](const Error& error) {
    own.error("{}: {}", rank_label(world), error.message());
    mpi->abort(error.exit_code());
  };
  try {
    return body({world, own, abort, world.size() > 1, &mpi->collectives(), streams});
  } catch (const SharedError& error) {
    if (world.rank() == 0) console.error("{}", error.message());
    return error.exit_code();
  } catch (...) {
    const Error error = current_error();
    if (world.size() > 1) abort(error);
    console.error("{}", error.message());
    return error.exit_code();
  }
}

}  // namespace

int run_ranks(const std::optional<std::string>& choice, Console& console,
              const std::function<int(const Ranks&)>& body, Threads threads,
              const std::string& to_work_alone) {
  const auto as_processes = [&](NcclPolicy streams) {
    return run_as_processes(console, body, threads, streams, to_work_alone);
  };
  if (!choice && is_launched()) return as_processes(NcclPolicy::where_possible);
  const std::string kind = choice.value_or("self");
  if (kind == "mpi") return as_processes(NcclPolicy::never);
  if (kind == "nccl") return as_processes(NcclPolicy::required);
  return run_as_threads(kind == "self" ? 1 : number_of_threads(kind), console, body);
}

}  // namespace dt::comm::mpi
