#include <catch2/catch.hpp>

#include "comm/backend.hpp"
#include "comm/threads/thread_group.hpp"

namespace dt::comm::test {

void on_ranks_of(const HostOf& host_of, const std::function<void(Communicator&)>& body) {
  for (const int size : {1, 2, 3, 4, 6, 7, 8}) {
    INFO(size << " ranks");
    const auto body_of_rank = [&](Communicator& group) {
      body(group);
      return 0;
    };
    CHECK_NOTHROW(run_threads(size, body_of_rank, host_of));
  }
}

}  // namespace dt::comm::test
