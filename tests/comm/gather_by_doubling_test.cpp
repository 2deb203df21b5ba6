// Opening a group takes n log2 n messages, not one from each rank to each.

#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <thread>

#include "comm/backend.hpp"
#include "comm/communicator.hpp"
#include "comm/counting_transport.hpp"
#include "comm/exchange.hpp"
#include "comm/threads/thread_group.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

/// Returns the number of messages that `body` sends among ranks of one host.
std::int64_t num_messages(int size, const std::function<void(Communicator&)>& body) {
  const auto hub = std::make_shared<CountingHub>(size);
  std::vector<std::unique_ptr<Communicator>> groups;
  for (int rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_unique<Communicator>(std::make_unique<CountingTransport>(hub, rank),
                                                    std::make_shared<Engine>(std::make_shared<Recorder>()),
                                                    "world", "n1"));
  }
  std::atomic<int> num_failed = 0;
  {
    std::vector<std::jthread> ranks;
    for (const auto& group : groups) {
      group->engine().set_timeout(60);
      ranks.emplace_back([&body, &group, &num_failed] {
        try {
          body(*group);
        } catch (const std::exception&) {
          ++num_failed;
        }
      });
    }
  }
  CHECK(num_failed == 0);
  std::int64_t sum = hub->num_messages;
  for (const auto& [_, part] : hub->parts) sum += part->num_messages;
  return sum;
}

/// Returns the messages of a gather: one from each rank in each round, of other numbers of ranks than powers
/// of two up to two.
std::int64_t most_messages(int size) {
  const int rounds = std::bit_width(static_cast<unsigned>(size) - 1);
  return std::int64_t{size} * rounds * (std::has_single_bit(static_cast<unsigned>(size)) ? 1 : 2);
}

void gather_numbers(Communicator& group, std::int64_t numel, bool in_place) {
  const Range own = even_range(group.rank(), group.size(), numel);
  std::vector<std::int32_t> all(static_cast<std::size_t>(numel) + 1, -1), apart;
  for (std::int64_t i = 0; i < own.count; ++i)
    apart.push_back(static_cast<std::int32_t>(100 * group.rank() + i));
  const Tensor out = host_tensor(all).flat(0, numel), mine = out.flat(own.begin, own.count);
  if (in_place) std::ranges::copy(apart, all.begin() + own.begin);
  group.all_gather(in_place ? mine : host_tensor(apart), out).wait_host();
  for (int rank = 0; rank < group.size(); ++rank) {
    const Range range = even_range(rank, group.size(), numel);
    for (std::int64_t i = 0; i < range.count; ++i)
      require(all[static_cast<std::size_t>(range.begin + i)] == 100 * rank + i, "a range is wrong");
  }
  require(all.back() == -1, "a gather wrote outside");
}

}  // namespace

TEST_CASE("gathers of few bytes bring every range everywhere, on any number of ranks") {
  for (int size = 1; size <= 17; ++size) {
    INFO(size << " ranks");
    const auto body = [](Communicator& group) {
      const std::int64_t n = group.size();
      for (const std::int64_t numel :
           {std::int64_t{0}, std::int64_t{1}, n - 1, n, 2 * n + 1, 50 * n, 1024 * n, 1024 * n + 1}) {
        gather_numbers(group, numel, false);
        gather_numbers(group, numel, true);
      }
      return 0;
    };
    CHECK_NOTHROW(run_threads(size, body));
  }
}

TEST_CASE("opening a group of n ranks sends n log2 n messages") {
  for (const int size : {33, 64}) {
    INFO(size << " ranks");
    const auto split = [](Communicator& world) {
      const auto group = world.split(0, world.rank(), "all");
      require(group->size() == world.size(), "the group is another's");
    };
    CHECK(num_messages(size, split) <= most_messages(size));
    // The first large operation also finds hosts, offers and answers. It sums in the ranks' window.
    const auto sum = [](Communicator& world) {
      std::vector<float> data(64 << 10, 1);
      world.all_reduce(host_tensor(data), host_tensor(data)).wait_host();
      require(data.back() == static_cast<float>(world.size()), "the sum is wrong");
    };
    CHECK(num_messages(size, sum) <= 3 * most_messages(size));
    const auto tell = [](Communicator& world) { gather_texts(world, "a rank's text"); };
    CHECK(num_messages(size, tell) <= 2 * most_messages(size));
  }
}

TEST_CASE("a sum whose messages between each two ranks would be short takes n log2 n of them") {
  const auto sum = [](Communicator& world) {
    std::vector<float> data(8 << 10, 1);  // 512 bytes for each of 64 ranks
    world.all_reduce(host_tensor(data), host_tensor(data)).wait_host();
    require(data.back() == static_cast<float>(world.size()), "the sum is wrong");
  };
  CHECK(num_messages(64, sum) <= most_messages(64));
}
