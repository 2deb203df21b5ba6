#pragma once
// Ranks as threads of one process.

#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace dt::comm {

/// Runs `body` on `size` threads, each a rank with an engine and a group "world" of its own; one rank runs on
/// the calling thread. When a rank throws, the others' waits throw too; the first error is rethrown when all
/// have ended. Returns the largest of the bodies' results. `host_of`: what each rank gives out for its host;
/// where there is none, this one.
int run_threads(int size, const std::function<int(Communicator&)>& body,
                const std::function<std::string(int rank)>& host_of = {});

/// The only rank there is.
inline int run_alone(const std::function<int(Communicator&)>& body) {
  return run_threads(1, body);
}

}  // namespace dt::comm
