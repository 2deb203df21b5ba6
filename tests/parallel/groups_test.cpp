#include "parallel/state/groups.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

/// Returns the world ranks of a group; none if the group is absent.
std::vector<int> members(const comm::Communicator* group) {
  return group ? group->members() : std::vector<int>();
}

struct Members {
  std::vector<int> data, shards, replicas;
  bool operator==(const Members&) const = default;
};

/// Returns each rank's members of its groups, by rank.
std::vector<Members> all_members(const model::Layout& layout) {
  std::vector<Members> all(static_cast<std::size_t>(layout.size()));
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    const Groups groups(layout, world);
    const ReductionRanks& ranks = groups.reduction(model::ReductionAxis::data);
    all[static_cast<std::size_t>(world.rank())] = {members(groups.data()), members(ranks.shards),
                                                   members(ranks.replicas)};
    return groups.control() == &world ? 0 : 1;
  });
  return all;
}

}  // namespace

TEST_CASE("ranks that are all data-parallel need no groups but the world, unless some divide the state") {
  const int zero = GENERATE(0, 2);
  const int made = comm::run_threads(4, [&](comm::Communicator& world) {
    const Groups groups(model::Layout{.dp = 4, .zero = zero}, world);
    const comm::Communicator* shards = zero > 0 ? &world : nullptr;
    const comm::Communicator* replicas = zero > 0 ? nullptr : &world;
    const ReductionRanks& ranks = groups.reduction(model::ReductionAxis::data);
    return ranks.all == &world && ranks.shards == shards && ranks.replicas == replicas ? 0 : 1;
  });
  CHECK(made == 0);
  const std::vector<Members> some = all_members({.dp = 4, .zero = 1, .zero_group = 2});
  CHECK(some[2] == Members{{0, 1, 2, 3}, {2, 3}, {0, 2}});
}

TEST_CASE("gradients are summed among ranks of one stage and one tensor-parallel place") {
  const std::vector<Members> whole = all_members({.pp = 2, .dp = 2, .tp = 2});
  CHECK(whole[1] == Members{{1, 3}, {}, {1, 3}});
  CHECK(whole[6] == Members{{4, 6}, {}, {4, 6}});
  const std::vector<Members> divided = all_members({.pp = 2, .dp = 4, .tp = 1, .zero = 3, .zero_group = 2});
  CHECK(divided[5] == Members{{4, 5, 6, 7}, {4, 5}, {5, 7}});
}

TEST_CASE("tensor-parallel ranks are of one stage and data-parallel place; some hold the same heads") {
  using All = std::vector<std::vector<int>>;
  const auto tensor = [](const model::Layout& layout, std::int64_t heads, auto member) {
    All all(static_cast<std::size_t>(layout.size()));
    comm::run_threads(layout.size(), [&](comm::Communicator& world) {
      const Groups groups(layout, world, {}, heads);
      all[static_cast<std::size_t>(world.rank())] = members((groups.*member)());
      return 0;
    });
    return all;
  };
  const auto all = &Groups::tensor, replicas = &Groups::tensor_replicas;
  CHECK(tensor({.pp = 2, .dp = 2, .tp = 2}, 2, all) ==
        All{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4, 5}, {4, 5}, {6, 7}, {6, 7}});
  CHECK(tensor({.dp = 2, .tp = 4}, 2, replicas) ==
        All{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4, 5}, {4, 5}, {6, 7}, {6, 7}});
  CHECK(tensor({.tp = 4}, 4, replicas) == All(4));
  CHECK(tensor({.dp = 2}, 1, all) == All(2));
  CHECK(tensor({.dp = 2}, 1, replicas) == All(2));
  // A group that would equal an existing one is not made.
  const int made = comm::run_threads(3, [&](comm::Communicator& world) {
    const Groups groups(model::Layout{.tp = 3}, world, {}, 1);
    return groups.tensor() == &world && groups.tensor_replicas() == &world ? 0 : 1;
  });
  CHECK(made == 0);
}

TEST_CASE("a stage's group has all ranks of the stage in their order, and is made on request") {
  std::vector<std::vector<int>> stages(8);
  const int failed = comm::run_threads(8, [&](comm::Communicator& world) {
    const model::Layout layout{.pp = 2, .dp = 2, .tp = 2};
    Groups groups(layout, world);
    const bool is_absent = groups.stage() == nullptr;
    groups.make_stage(layout);
    stages[static_cast<std::size_t>(world.rank())] = members(groups.stage());
    return is_absent ? 0 : 1;
  });
  CHECK(failed == 0);
  CHECK(stages == std::vector<std::vector<int>>{{0, 1, 2, 3},
                                                {0, 1, 2, 3},
                                                {0, 1, 2, 3},
                                                {0, 1, 2, 3},
                                                {4, 5, 6, 7},
                                                {4, 5, 6, 7},
                                                {4, 5, 6, 7},
                                                {4, 5, 6, 7}});
}

TEST_CASE("ranks that divide sequences are slowest among those that sum gradients") {
  const std::vector<Members> all = all_members({.dp = 2, .tp = 2, .cp = 2});
  CHECK(all[1] == Members{{1, 5, 3, 7}, {}, {1, 5, 3, 7}});
  std::vector<std::vector<int>> context(8);
  comm::run_threads(8, [&](comm::Communicator& world) {
    const Groups groups(model::Layout{.dp = 2, .tp = 2, .cp = 2}, world);
    context[static_cast<std::size_t>(world.rank())] = members(groups.context());
    return 0;
  });
  CHECK(context ==
        std::vector<std::vector<int>>{{0, 2}, {1, 3}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {4, 6}, {5, 7}});
}

TEST_CASE("ranks that divide experts are consecutive data ranks; every ep-th sums their gradients") {
  using All = std::vector<std::vector<int>>;
  const auto experts = [](const model::Layout& layout, auto group) {
    All all(static_cast<std::size_t>(layout.size()));
    comm::run_threads(layout.size(), [&](comm::Communicator& world) {
      const Groups groups(layout, world);
      all[static_cast<std::size_t>(world.rank())] = members(group(groups));
      return 0;
    });
    return all;
  };
  const auto divide = [](const Groups& groups) { return groups.expert(); };
  const auto sum = [](const Groups& groups) {
    return groups.reduction(model::ReductionAxis::expert_data).all;
  };
  const auto shards = [](const Groups& groups) {
    return groups.reduction(model::ReductionAxis::expert_data).shards;
  };
  const auto replicas = [](const Groups& groups) {
    return groups.reduction(model::ReductionAxis::expert_data).replicas;
  };
  CHECK(experts({.dp = 4, .tp = 2, .ep = 2}, divide) ==
        All{{0, 2}, {1, 3}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {4, 6}, {5, 7}});
  CHECK(experts({.dp = 4, .tp = 2, .ep = 2}, sum) ==
        All{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(experts({.dp = 4, .tp = 2, .ep = 2}, replicas)[3] == std::vector{3, 7});
  // Data ranks have cp slowest: world ranks 0 and 2 divide experts, and 1 and 3.
  CHECK(experts({.dp = 2, .cp = 2, .ep = 2}, divide) == All{{0, 2}, {1, 3}, {0, 2}, {1, 3}});
  CHECK(experts({.dp = 4, .zero = 3, .ep = 4}, divide)[1] == std::vector{0, 1, 2, 3});
  CHECK(experts({.dp = 4, .zero = 3, .ep = 4}, shards) == All{{0}, {1}, {2}, {3}});
  // ZeRO's groups of four data ranks have two with each expert.
  const model::Layout in_groups{.dp = 8, .zero = 1, .zero_group = 4, .ep = 2};
  CHECK(experts(in_groups, sum)[3] == std::vector{1, 3, 5, 7});
  CHECK(experts(in_groups, shards)[3] == std::vector{1, 3});
  CHECK(experts(in_groups, replicas)[3] == std::vector{3, 7});
  // Without division, experts are summed as all parameters are.
  CHECK(experts({.dp = 4}, divide) == All(4));
  CHECK(experts({.dp = 4}, sum)[2] == std::vector{0, 1, 2, 3});
}

TEST_CASE("of the groups between stages a rank has a record of its own alone") {
  const auto channels = channels_of({one_f_one_b(3, 2), {{0, 1, 2, 3}}});
  const int wrong = comm::run_threads(3, [&](comm::Communicator& world) {
    const Groups groups(model::Layout{.pp = 3}, world, channels);
    const auto recorded = world.engine().recorder().snapshot().groups.size();
    const bool is_between = world.rank() == 1;  // rank 1 is between two stages, with both directions of each
    return recorded == (is_between ? 6 : 4) ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a layout of other than all ranks is refused") {
  comm::run_threads(2, [](comm::Communicator& world) {
    CHECK_THROWS_AS(Groups(model::Layout{.dp = 3}, world), Error);
    return 0;
  });
  CHECK(Groups().is_single_rank());
}
