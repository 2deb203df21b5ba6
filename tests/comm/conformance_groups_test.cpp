// Groups, errors, and words: what every backend must do.

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

#include "base/system/host.hpp"
#include "comm/backend.hpp"
#include "comm/exchange.hpp"
#include "comm/topology/host_order.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

std::int64_t sum_of(Communicator& group, std::int64_t number) {
  std::array<std::int64_t, 1> numbers = {number};
  all_reduce_sum(group, numbers);
  return numbers[0];
}

std::string together_error(Communicator& group, const std::function<void()>& body, ErrorKind expected) {
  const Error error = error_of([&] { run_collectively(group, body); });
  require(error.kind() == expected, "the error's kind did not travel: " + error.message());
  return error.message();
}

}  // namespace

TEST_CASE("parts cover all elements in order, without gaps") {
  for (const int size : {1, 2, 3, 7, 64}) {
    for (const std::int64_t numel : {0LL, 1LL, 6LL, 63LL, 1000LL, (1LL << 61) + 3}) {
      std::int64_t end = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Range range = even_range(rank, size, numel);
        REQUIRE(range.begin == end);
        REQUIRE(range.count >= numel / size);
        REQUIRE(range.count <= numel / size + 1);
        end = range.begin + range.count;
      }
      REQUIRE(end == numel);
    }
  }
}

TEST_CASE("ranks of one colour form a group, ordered by key") {
  on_ranks([](Communicator& world) {
    const int n = world.size();
    const std::unique_ptr<Communicator> backwards = world.split(-5, n - world.rank(), "backwards");
    require(backwards->size() == n && backwards->rank() == n - 1 - world.rank(), "the key does not order");
    require(backwards->members()[0] == n - 1, "members are wrong");

    // Ranks of equal keys keep their order; the groups have 1 and n − 1 ranks.
    const std::unique_ptr<Communicator> uneven = world.split(world.rank() == 0 ? 7 : 3, 0, "uneven");
    require(uneven->size() == (world.rank() == 0 ? 1 : n - 1), "an uneven group has another size");
    require(uneven->members()[static_cast<std::size_t>(uneven->rank())] == world.rank(), "members are wrong");
    require(sum_of(*uneven, 1) == uneven->size(), "the sum over an uneven group is wrong");
    require(sum_of(*backwards, world.rank()) == n * (n - 1) / 2, "the sum over a turned group is wrong");
  });
}

TEST_CASE("a rank without a colour is in no group, and has a record of none") {
  on_ranks([](Communicator& world) {
    const bool is_last = world.rank() == world.size() - 1;
    const auto others = world.split(is_last ? std::nullopt : std::optional(0), 0, "others");
    const std::unique_ptr<Communicator> all = world.split(0, 0, "all");
    require((others == nullptr) == is_last, "a group has a rank too many, or too few");
    if (others) require(sum_of(*others, 1) == world.size() - 1, "the sum over the others is wrong");
    require(sum_of(*all, 1) == world.size(), "the sum over all is wrong");
    const std::size_t groups = world.engine().recorder().snapshot().groups.size();
    require(groups == (is_last ? 2 : 3), "another number of groups is recorded");
  });
}

TEST_CASE("a group of a group knows its members by their ranks among all") {
  on_ranks([](Communicator& world) {
    const std::unique_ptr<Communicator> parity = world.split(world.rank() % 2, -world.rank(), "parity");
    const std::unique_ptr<Communicator> half = parity->split(parity->rank() / 2, 0, "half");
    const std::vector<int>& members = half->members();
    require(members[static_cast<std::size_t>(half->rank())] == world.rank(), "a member's number is wrong");
    std::int64_t expected = 0;
    for (const int member : members) expected += member;
    require(sum_of(*half, world.rank()) == expected, "the sum over the nested group is wrong");
  });
}

TEST_CASE("traffic of a group and of its parts does not mix") {
  on_ranks([](Communicator& world) {
    const std::unique_ptr<Communicator> subgroup = world.split(world.rank() % 2, world.rank(), "part");
    const std::unique_ptr<Communicator> twin = world.split(0, world.rank(), "twin");
    for (const std::size_t count : {std::size_t{3}, std::size_t{100'000}}) {
      std::vector<std::int64_t> of_world(count, 1);
      std::vector<std::int64_t> of_part(count, 100);
      std::vector<std::int64_t> of_twin(count, 10'000);
      const std::vector<std::pair<Communicator*, std::vector<std::int64_t>*>> jobs = {
          {&world, &of_world}, {subgroup.get(), &of_part}, {twin.get(), &of_twin}};
      std::vector<Work> works;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto& [group, numbers] = jobs[(i + static_cast<std::size_t>(world.rank())) % jobs.size()];
        works.push_back(group->all_reduce(host_tensor(*numbers), host_tensor(*numbers)));
      }
      for (const Work& work : works) work.wait_host();
      require(of_world == std::vector<std::int64_t>(count, world.size()), "the parent's sum is wrong");
      require(of_part == std::vector<std::int64_t>(count, 100 * subgroup->size()), "the part's sum is wrong");
      require(of_twin == std::vector<std::int64_t>(count, 10'000 * world.size()), "the twin's sum is wrong");
    }
  });
}

TEST_CASE("operations are recorded under the same numbers on all ranks of a group") {
  on_ranks([](Communicator& world) {
    const std::unique_ptr<Communicator> subgroup = world.split(world.rank() % 2, 0, "part");
    const std::int64_t before = world.engine().recorder().snapshot().operations;
    sum_of(world, 1);
    sum_of(*subgroup, 1);
    world.barrier().wait_host();
    const Recorder::Snapshot snapshot = world.engine().recorder().snapshot();
    require(snapshot.operations == before + 3 && snapshot.in_flight.empty(), "operations are missing");
    require(snapshot.groups.size() == 2 && snapshot.groups[1].name == "part", "a group is missing");
    require(snapshot.groups[0].started == 3 && snapshot.groups[1].started == 1, "sequences are wrong");
    require(snapshot.groups[1].members == subgroup->members(), "members are wrong");
  });
}

TEST_CASE("tensors that do not fit are refused at the start") {
  on_ranks([](Communicator& group) {
    std::vector<std::int64_t> five(5);
    std::vector<std::int64_t> many(static_cast<std::size_t>(group.size()) * 7);
    const auto kind_of = [](const auto& body) { return error_of(body).kind(); };
    require(kind_of([&] { group.all_reduce(host_tensor(five), host_tensor(many)); }) == ErrorKind::internal,
            "all_reduce");
    require(
        kind_of([&] { group.reduce_scatter(host_tensor(many), host_tensor(five)); }) == ErrorKind::internal,
        "reduce_scatter");
    require(kind_of([&] { group.all_gather(host_tensor(five), host_tensor(many)); }) == ErrorKind::internal,
            "all_gather");
    require(kind_of([&] { group.broadcast(host_tensor(five), group.size()); }) == ErrorKind::internal,
            "broadcast");
    require(kind_of([&] { group.send(group.rank(), host_tensor(five)); }) == ErrorKind::internal, "send");
    const Tensor as_doubles(five.data(), DType::f64, {5}, Device::host());
    require(kind_of([&] { group.all_reduce(host_tensor(five), as_doubles); }) == ErrorKind::internal,
            "dtypes");
    require(sum_of(group, 1) == group.size(), "the group is of no use any more");
  });
}

TEST_CASE("a message of another length than expected is an error") {
  for (const std::size_t sent : {std::size_t{1}, std::size_t{3}}) {
    on_ranks([sent](Communicator& group) {
      if (group.size() == 1 || group.rank() > 1) return;
      std::vector<std::int64_t> data(group.rank() == 0 ? sent : 2);
      group.engine().set_timeout(5);
      try {
        const Work work =
            group.rank() == 0 ? group.send(1, host_tensor(data)) : group.receive(0, host_tensor(data));
        work.wait_host();
        require(group.rank() == 0, "the receiver took a message of another length");
      } catch (const Error& error) {
        require(group.rank() == 0 || error.message().find("expects") != std::string::npos,
                "an unexpected error: " + error.message());
      }
    });
  }
}

TEST_CASE("an operation that one rank never enters ends with an error that names it") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
    on_ranks([count](Communicator& world) {
      if (world.size() == 1) return;
      const std::unique_ptr<Communicator> other = world.split(0, 0, "other");
      world.engine().recorder().set_step(42);
      if (world.rank() < world.size() - 1) {
        world.engine().set_timeout(0.2);
        std::vector<std::int64_t> data(count, 1);
        const Error error =
            error_of([&] { world.all_reduce(host_tensor(data), host_tensor(data)).wait_host(); });
        require(error.kind() == ErrorKind::environment, "another kind: " + error.message());
        const std::string expected = fmt::format(
            "all_reduce 2 of {} bytes in group world, step 42, did not complete within 0.", 8 * count);
        require(error.message().starts_with(expected), "another message: " + error.message());
        world.engine().set_timeout(10);
      }
      // A cancelled operation is no obstacle if the transport could take it back.
      if (count == 1) require(sum_of(*other, 1) == world.size(), "the other group is of no use any more");
    });
  }
}

TEST_CASE("texts and numbers of any length travel") {
  on_ranks([](Communicator& group) {
    const std::string mine(static_cast<std::size_t>(group.rank() * 1000),
                           static_cast<char>('a' + group.rank()));
    const std::vector<std::string> all = gather_texts(group, mine);
    for (int rank = 0; rank < group.size(); ++rank) {
      require(all[static_cast<std::size_t>(rank)] ==
                  std::string(static_cast<std::size_t>(rank * 1000), static_cast<char>('a' + rank)),
              "a rank's text is wrong");
      require(broadcast_text(group, mine, rank) == all[static_cast<std::size_t>(rank)],
              "a broadcast text is wrong");
      require(broadcast_number(group, group.rank(), rank) == rank, "a broadcast number is wrong");
    }
    require(gather_texts(group, "") == std::vector<std::string>(static_cast<std::size_t>(group.size())),
            "empty texts are not empty");
    require(broadcast_text(group, std::string("\0\xff", 2)) == std::string("\0\xff", 2), "bytes changed");
  });
}

TEST_CASE("an error of one rank is thrown by all, with the rank and its host") {
  on_ranks([](Communicator& group) {
    run_collectively(group, [] {});
    const int failing = group.size() - 1;
    const std::string message = together_error(
        group,
        [&] {
          if (group.rank() == failing) throw Error(ErrorKind::verification, "the sum is off", "look again");
        },
        ErrorKind::verification);
    const std::string prefix = group.size() == 1 ? "" : fmt::format("rank {} on {}: ", failing, host_name());
    require(message == prefix + "the sum is off; look again", "another message: " + message);
    require(sum_of(group, 1) == group.size(), "the group is of no use any more");
  });
}

TEST_CASE("a rank that fails alone is told with what it is to the training") {
  on_ranks([](Communicator& group) {
    if (group.size() == 1) return;
    group.engine().recorder().set_role(fmt::format("stage {}", group.rank()));
    const std::string message = together_error(
        group,
        [&] {
          if (group.rank() == 1) throw input_error("no such file");
        },
        ErrorKind::input);
    group.engine().recorder().set_role("");
    require(message == "rank 1 on " + host_name() + " (stage 1): no such file",
            "another message: " + message);
  });
}

TEST_CASE("an error that all ranks share is told once, else that of the lowest rank") {
  on_ranks([](Communicator& group) {
    const std::string alike = together_error(
        group, [] { throw input_error("no such file"); }, ErrorKind::input);
    require(alike == "no such file", "another message: " + alike);
    const std::string first = together_error(
        group, [&] { throw environment_error("disk {} is full", group.rank()); }, ErrorKind::environment);
    require(first == (group.size() == 1 ? "" : "rank 0 on " + host_name() + ": ") + "disk 0 is full",
            "another message: " + first);
    const std::string nested = together_error(
        group, [&] { run_collectively(group, [] { throw input_error("twice"); }); }, ErrorKind::input);
    require(nested == "twice", "another message: " + nested);
  });
}

TEST_CASE("other exceptions are shared as errors, too, and a lone rank's stay what they are") {
  on_ranks([](Communicator& group) {
    const auto missing = [] { static_cast<void>(std::filesystem::file_size("/nonexistent/file")); };
    if (group.size() == 1) {
      bool is_itself = false;
      try {
        run_collectively(group, missing);
      } catch (const std::filesystem::filesystem_error&) {
        is_itself = true;
      }
      require(is_itself, "a lone rank's exception has become another");
      return;
    }
    together_error(group, missing, ErrorKind::environment);
    together_error(
        group, [] { throw std::bad_alloc(); }, ErrorKind::environment);
    together_error(
        group, [] { throw std::out_of_range("5"); }, ErrorKind::internal);
  });
}

TEST_CASE("ranks of one host count themselves") {
  on_ranks([](Communicator& group) {
    require(ranks_on_host(group) == group.size(), "some ranks of this host were not counted");
  });
}

TEST_CASE("the first ranks work as a group of their own; what they all throw, those that wait throw too") {
  on_ranks([](Communicator& group) {
    Console console({.tool = "test", .quiet = true});
    const Ranks ranks{group, console, [](const Error&) {}};
    const int count = (group.size() + 1) / 2;
    int seen = 0;
    group.engine().recorder().set_role("stage 1 of what was before");
    on_subset(ranks, count, "first", [&](const Ranks& first) {
      seen = static_cast<int>(sum_of(first.world, 1));
      require(first.world.rank() == group.rank(), "a rank has another number");
    });
    require(group.engine().recorder().role().empty(), "a rank is named for what it does no more");
    require(seen == (group.rank() < count ? count : 0), "others than the first ranks worked");
    if (count == 1) return;
    const Error error = error_of([&] {
      on_subset(ranks, count, "failing", [&](const Ranks& first) {
        run_collectively(first.world, [] { throw input_error("no such layout"); });
      });
    });
    require(error.message() == "no such layout", "another message: " + error.message());
    require(error.kind() == ErrorKind::input, "another kind of error");
    require(sum_of(group, 1) == group.size(), "the group is of no use any more");
  });
}
