#pragma once
// Runs ranks as threads of one process.

#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace dt::comm {

/// Runs `body` on `size` threads, each a rank with an engine and a group "world" of its own. One
/// rank runs on the calling thread. Returns the largest of the bodies' results. When a rank throws,
/// the others' waits throw too; the first error is rethrown when all have ended. `host_of` returns
/// the host name that each rank reports; by default, this host's.
int run_threads(int size, const std::function<int(Communicator&)>& body,
                const std::function<std::string(int rank)>& host_of = {});

/// Runs `body` as the only rank.
inline int run_alone(const std::function<int(Communicator&)>& body) {
  return run_threads(1, body);
}

}  // namespace dt::comm
