#include <catch2/catch.hpp>

#include "comm/backend.hpp"
#include "comm/threads/thread_group.hpp"

namespace dt::comm::test {

void on_ranks(const std::function<void(Communicator&)>& body) {
  for (const int size : {1, 2, 3, 4, 7}) {
    INFO(size << " ranks");
    CHECK_NOTHROW(run_threads(size, [&](Communicator& group) {
      body(group);
      return 0;
    }));
  }
}

}  // namespace dt::comm::test
