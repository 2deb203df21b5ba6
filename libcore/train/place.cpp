#include "train/place.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/host.hpp"
#include "comm/exchange.hpp"

namespace dt::train {

Place find_place(comm::Communicator& world) {
  const std::string host = host_name();
  std::string own = host + "\n";
  for (const int core : available_core_numbers()) own += std::to_string(core) + " ";
  std::set<int> cores;
  int ranks = 0;
  for (const std::string& text : comm::gather_texts(world, own)) {
    std::istringstream lines(text);
    std::string other;
    std::getline(lines, other);
    if (other != host) continue;
    ++ranks;
    for (int core = 0; lines >> core;) cores.insert(core);
  }
  return {world.rank(), world.size(), std::max(1, static_cast<int>(cores.size()) / ranks)};
}

}  // namespace dt::train
