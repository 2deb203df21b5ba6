#include "comm/threads/thread_group.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <thread>

#include "comm/backend.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

bool contains(const Error& error, const std::string& text) {
  return error.message().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("the largest result of the ranks is that of the run") {
  CHECK(run_threads(5, [](Communicator& group) { return group.rank() == 3 ? 75 : group.rank(); }) == 75);
  CHECK(run_alone([](Communicator& group) { return group.size(); }) == 1);
}

TEST_CASE("one rank runs on the calling thread") {
  const std::thread::id caller = std::this_thread::get_id();
  run_alone([&](Communicator&) {
    CHECK(std::this_thread::get_id() == caller);
    return 0;
  });
}

TEST_CASE("when a rank throws, the others' waits throw, and its error is the run's") {
  std::atomic<int> num_begun = 0;
  std::atomic<int> num_told = 0;
  const auto body = [&](Communicator& group) {
    ++num_begun;  // a rank that has not begun when another fails never begins
    while (num_begun < 4) std::this_thread::yield();
    if (group.rank() == 2) throw input_error("no such shard");
    try {
      group.barrier().wait_host();
    } catch (const Error& error) {
      if (error.message() == "rank 2 failed; no such shard") ++num_told;
      throw;
    }
    return 0;
  };
  const Error error = error_of([&] { run_threads(4, body); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.message() == "no such shard");
  CHECK(num_told == 3);
}

TEST_CASE("when a rank throws, waits in groups of groups throw, too") {
  const auto body = [](Communicator& world) {
    const std::unique_ptr<Communicator> subgroup = world.split(0, 0, "part");
    if (world.rank() == 0) throw std::runtime_error("no");
    const std::unique_ptr<Communicator> smaller = subgroup->split(1, 0, "smaller");
    return 0;
  };
  CHECK_THROWS_AS(run_threads(3, body), std::runtime_error);
}

TEST_CASE("no rank touches the buffers of a rank that throws half-way") {
  // Under AddressSanitizer this also shows that freed memory is not read.
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> has_left = false;
    const auto body = [&](Communicator& group) {
      std::vector<float> data(400'000, 1);
      if (group.rank() == 1) {
        struct Leaving {
          std::atomic<bool>& has_left;
          ~Leaving() { has_left = true; }
        };
        const Leaving leaving{has_left};
        std::vector<float> doomed(400'000, 1);
        const Work work = group.all_reduce(host_tensor(doomed), host_tensor(doomed));
        for (int i = 0; i < round; ++i) group.engine().progress();
        throw environment_error("a disk is full");
      }
      while (round % 2 == 0 && !has_left) std::this_thread::yield();
      group.all_reduce(host_tensor(data), host_tensor(data)).wait_host();
      return 0;
    };
    CHECK(error_of([&] { run_threads(3, body); }).message() == "a disk is full");
  }
}

TEST_CASE("an operation without a wait leaves its buffer alone, and is an error") {
  std::atomic<bool> is_dropped = false;
  const auto body = [&](Communicator& group) {
    const auto own = static_cast<float>(group.rank());
    std::vector<float> data(1000, own);
    if (group.rank() == 0) {
      group.receive(1, host_tensor(data));
      is_dropped = true;
      const Error error = error_of([&] { group.barrier().wait_host(); });
      require(error.kind() == ErrorKind::internal, "the kind of error is wrong");
      require(contains(error, "no code waited for receive from rank 1"), error.message());
    } else {
      while (!is_dropped) std::this_thread::yield();
      group.engine().set_timeout(0.1);
      const Error error = error_of([&] { group.send(0, host_tensor(data)).wait_host(); });
      require(contains(error, "did not complete within"), error.message());
    }
    require(data == std::vector<float>(1000, own), "the buffer was written");
    return 0;
  };
  CHECK(run_threads(2, body) == 0);
}

TEST_CASE("what an exception drops is given up, and the rank can still tell the others") {
  std::atomic<bool> is_dropped = false;
  const auto body = [&](Communicator& group) {
    std::vector<float> data(1000, 7);
    if (group.rank() == 0) {
      const auto fail = [&] {
        const Work work = group.receive(1, host_tensor(data));
        throw environment_error("a disk is full");
      };
      require(error_of(fail).message() == "a disk is full", "another error");
      is_dropped = true;
    }
    while (!is_dropped) std::this_thread::yield();
    group.barrier().wait_host();
    return 0;
  };
  CHECK(run_threads(2, body) == 0);
}

// If ranks are processes, such a rank can send no more at all: MPI does not take messages back.
TEST_CASE("after an operation between hosts that was given up, later ones of the group fail") {
  const auto body = [](Communicator& world) {
    const std::unique_ptr<Communicator> doomed = world.split(0, world.rank(), "doomed");
    std::vector<float> data(200'000, 1);
    doomed->all_reduce(host_tensor(data), host_tensor(data)).wait_host();
    if (world.rank() > 0) {
      world.engine().set_timeout(0.2);
      const Error late =
          error_of([&] { doomed->all_reduce(host_tensor(data), host_tensor(data)).wait_host(); });
      CHECK_THAT(late.message(), Catch::Contains("did not complete within"));
      world.engine().set_timeout(0);
    }
    world.barrier().wait_host();
    // The first rank's neighbour waited for it in their window.
    if (world.rank() == 1) {
      const Error ended =
          error_of([&] { doomed->all_reduce(host_tensor(data), host_tensor(data)).wait_host(); });
      CHECK_THAT(ended.message(), Catch::Contains("was cancelled"));
    }
    return 0;
  };
  run_threads(4, body, [](int rank) { return fmt::format("n{}", rank / 2); });
}

TEST_CASE("a rank that has been told of a failure stays told") {
  const auto body = [](Communicator& group) {
    if (group.rank() == 1) throw environment_error("gone");
    std::vector<float> data(10);
    CHECK_THROWS_AS(group.barrier().wait_host(), Error);
    CHECK_THROWS_AS(group.all_reduce(host_tensor(data), host_tensor(data)).wait_host(), Error);
    return 0;
  };
  CHECK(error_of([&] { run_threads(2, body); }).message() == "gone");
}

TEST_CASE("many ranks share few cores") {
  CHECK(run_threads(32, [](Communicator& group) {
          std::vector<float> data(10'000, 1);
          for (int round = 0; round < 3; ++round) {
            group.all_reduce(host_tensor(data), host_tensor(data)).wait_host();
            group.barrier().wait_host();
          }
          return static_cast<int>(data[9999]);
        }) == 32 * 32 * 32);
}
