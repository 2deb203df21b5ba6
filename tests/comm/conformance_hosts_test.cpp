// Ranks on several hosts give the bits of the flat tree, and send fewer bytes between hosts.

#include <catch2/catch.hpp>
#include <memory>

#include "comm/backend.hpp"
#include "comm/check_operations.hpp"
#include "comm/core/reduction.hpp"
#include "comm/node/locality.hpp"
#include "comm/sent_bytes.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

constexpr std::int64_t least_bytes = 128 << 10;  // memory is shared from this size on

HostOf in_rows_of(int per_host) {
  return [per_host](int rank) { return "n" + std::to_string(rank / per_host); };
}

template <DType dtype>
std::int64_t elements(std::int64_t bytes) {
  return bytes / static_cast<std::int64_t>(dtype_bytes(dtype));
}

template <DType dtype>
void check_dtype(Communicator& group) {
  for (const Reduction reduction : {Reduction::sum, Reduction::max}) {
    check_operations<dtype>(
        group, {.numel = elements<dtype>(least_bytes) + 3, .reduction = reduction, .in_place = true});
    check_operations<dtype>(group, {.numel = elements<dtype>(3 << 20) + 1001, .reduction = reduction});
  }
}

/// Returns how many ranks a host has if they are placed as the hierarchy needs; else 1.
int num_neighbours(const Communicator& group, int per_host) {
  std::vector<HostName> hosts(static_cast<std::size_t>(group.size()));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    hosts[rank][0] = static_cast<char>(rank / static_cast<std::size_t>(per_host));
  const auto placement = placement_of(hosts);
  return placement ? placement->per_host : 1;
}

std::vector<float> wild_floats(int rank, std::int64_t numel) {
  return repeated(numel, [&](std::int64_t i) { return sample<DType::f32>(Values::wild, rank, i); });
}

std::vector<HostName> hosts_of(const std::string& letters) {
  std::vector<HostName> hosts(letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) hosts[i][0] = letters[i];
  return hosts;
}

}  // namespace

TEST_CASE("a placement has the longest runs of ranks on one host, of several runs a power of two of ranks") {
  const auto place = [](const std::string& letters) { return placement_of(hosts_of(letters)); };
  CHECK(place("aa") == Placement{1, 2});
  CHECK(place("aaa") == Placement{1, 3});
  CHECK(place("aabb") == Placement{2, 2});
  CHECK(place("aabbcc") == Placement{3, 2});
  CHECK(place("aaaabbbb") == Placement{2, 4});
  CHECK(place("aabbccdd") == Placement{4, 2});
  CHECK(place("aabbaabb") == Placement{4, 2});
  CHECK(place("aaaabb") == Placement{3, 2});
  CHECK(place("aaaaaabbbbbb") == Placement{6, 2});
  CHECK(place(std::string(128, 'a')) == Placement{2, 64});
  for (const std::string other : {"a", "ab", "abab", "aaab", "abbb", "aabbb", "aaabbb", "aabbc", "aabc"}) {
    INFO(other);
    CHECK_FALSE(place(other));
  }
  CHECK_FALSE(place(std::string(65, 'a')));
}

TEST_CASE("what a rank sends between hosts is told without ranks") {
  const auto between = [](OperationKind kind, DType dtype, const std::vector<int>& hosts) {
    return sent_bytes(kind, 1600, dtype, hosts, 0).between_hosts;
  };
  const std::vector<int> four{0, 0, 0, 0, 1, 1, 1, 1}, two{0, 0, 1, 1}, in_turns{0, 1, 0, 1};
  CHECK(between(OperationKind::reduce_scatter, DType::f32, four) == 200);  // 1600 · 4/8, by 4 ranks
  CHECK(between(OperationKind::reduce_scatter, DType::bf16, four) == 400);
  CHECK(between(OperationKind::all_gather, DType::bf16, four) == 200);
  CHECK(between(OperationKind::all_reduce, DType::f32, four) == 400);
  CHECK(between(OperationKind::reduce_scatter, DType::bf16, two) ==
        800);  // two 16-bit values are as large as a 32-bit sum
  CHECK(between(OperationKind::all_reduce, DType::f32, in_turns) == 1600);
  CHECK(sent_bytes(OperationKind::all_reduce, 1600, DType::f32, four, 3).total() == 2 * (1200 + 200));
  CHECK(between(OperationKind::all_to_all, DType::f32, four) == 4 * 200);
  CHECK(sent_bytes(OperationKind::all_to_all, 1600, DType::f32, four, 3).total() == 7 * 200);
  CHECK(sent_bytes(OperationKind::all_reduce, 1600, DType::f32, std::vector{0}, 0).total() == 0);
}

TEST_CASE("a partial result of 16-bit floats is not rounded") {
  constexpr std::int64_t numel = 5000;
  std::vector<std::vector<std::uint16_t>> stored;
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < 8; ++rank) {
    stored.push_back(
        repeated(numel, [&](std::int64_t i) { return sample<DType::bf16>(Values::wild, rank, i); }));
  }
  for (auto& s : stored) inputs.emplace_back(s.data(), DType::bf16, Shape{numel}, Device::host());
  for (const int per_host : {2, 4}) {
    std::vector<std::vector<float>> partials(static_cast<std::size_t>(8 / per_host),
                                             std::vector<float>(numel));
    std::vector<Tensor> partial_views;
    for (std::size_t host = 0; host < partials.size(); ++host) {
      partial_views.push_back(host_tensor(partials[host]));
      combine(Reduction::sum,
              std::span(inputs).subspan(host * static_cast<std::size_t>(per_host),
                                        static_cast<std::size_t>(per_host)),
              partial_views.back());
    }
    combine(Reduction::sum, partial_views, partial_views[0]);
    std::vector<std::uint16_t> whole(numel), apart(numel);
    const Tensor whole_view(whole.data(), DType::bf16, {numel}, Device::host()),
        apart_view(apart.data(), DType::bf16, {numel}, Device::host());
    combine(Reduction::sum, inputs, whole_view);
    cast(partial_views[0], apart_view);
    CHECK(whole == apart);
  }
}

TEST_CASE("wherever hosts begin and end, operations keep their bits", "[hosts][slow]") {
  for (const int per_host : {2, 3, 4}) {
    on_ranks_of(in_rows_of(per_host), [](Communicator& group) {
      check_dtype<DType::f32>(group);
      check_dtype<DType::bf16>(group);
      check_dtype<DType::f64>(group);
    });
  }
  const auto first_alone = [](int rank) { return std::string(rank == 0 ? "n0" : "n1"); };
  const auto in_turns = [](int rank) { return "n" + std::to_string(rank % 2); };
  const auto in_turns_of_two = [](int rank) { return "n" + std::to_string(rank / 2 % 2); };
  for (const HostOf& uneven : {HostOf(first_alone), HostOf(in_turns), HostOf(in_turns_of_two)}) {
    on_ranks_of(uneven, [](Communicator& group) {
      check_operations<DType::f32>(group, {.numel = 200'001, .in_place = true});
    });
  }
}

TEST_CASE("parts of whole granules and around the borders of segments go between hosts, too", "[hosts]") {
  on_ranks_of(in_rows_of(2), [](Communicator& group) {
    for (const std::int64_t numel : {150'000, 4096 * group.size() - 1, 65'536 * group.size() + 1}) {
      check_operations<DType::f32>(group, {.numel = numel, .granule = 4096});
    }
    // Most ranks have no granule at all.
    check_operations<DType::f32>(group, {.numel = 70'000, .in_place = true, .granule = 32'768});
  });
}

TEST_CASE("between hosts pass as many times fewer bytes as a host has ranks", "[hosts]") {
  constexpr int per_host = 2;
  on_ranks_of(in_rows_of(per_host), [](Communicator& group) {
    const int n = group.size();
    const int neighbours = num_neighbours(group, per_host);
    const std::int64_t numel = 16'384 * n;
    std::vector<float> data = wild_floats(group.rank(), numel);
    const Tensor all = host_tensor(data);
    const Tensor local = all.flat(numel / n * group.rank(), numel / n);
    group.all_reduce(all, all).wait_host();  // finds out on which hosts ranks are
    const auto sent_by = [&](const auto& operation) {
      const std::int64_t before = group.engine().recorder().message_bytes();
      operation().wait_host();
      return group.engine().recorder().message_bytes() - before;
    };
    const bool is_large = 4 * numel >= least_bytes;
    const std::int64_t peers = is_large ? n / neighbours - 1 : n - 1;
    const std::int64_t bytes = 4 * numel / n * peers;
    require(sent_by([&] { return group.reduce_scatter(all, local); }) == bytes, "of a reduce_scatter");
    require(sent_by([&] { return group.all_gather(local, all); }) == bytes, "of an all_gather");
    require(sent_by([&] { return group.all_reduce(all, all); }) == 2 * bytes, "of an all_reduce");
  });
}

TEST_CASE("operations of hosts, of a group and its parts, go side by side, from the first on", "[hosts]") {
  on_ranks_of(in_rows_of(2), [](Communicator& world) {
    const std::unique_ptr<Communicator> half = world.split(world.rank() % 2, world.rank(), "half");
    constexpr std::int64_t numel = 300'005;
    std::vector<std::vector<float>> data;
    std::vector<Work> works;
    for (int i = 0; i < 6; ++i) data.push_back(wild_floats(world.rank(), numel + 1000 * i));
    for (int i = 0; i < 6; ++i) {
      const Tensor view = host_tensor(data[static_cast<std::size_t>(i)]);
      works.push_back((i % 2 == 0 ? world : *half).all_reduce(view, view));
    }
    for (int i = 0; i < 6; ++i) works[static_cast<std::size_t>((5 * i + world.rank()) % 6)].wait_host();
    for (std::size_t i = 0; i < 6; i += 2) {
      for (std::size_t at = 0; at < numel; at += 97) {
        require(same_bits(data[i][at], combined<DType::f32>(Reduction::sum, Values::wild, world.size(),
                                                            static_cast<std::int64_t>(at))),
                "an operation of the world is wrong");
      }
    }
  });
}

TEST_CASE("however little may be under way, bits stay, and no more memory is borrowed for what arrives",
          "[hosts][slow]") {
  constexpr std::size_t least = 4096;
  for (const HostOf& host_of : {HostOf(own_host), in_rows_of(2)}) {
    for (const std::size_t bucket :
         {std::size_t{1}, std::size_t{100'000}, std::size_t{1} << 20, std::size_t{0}}) {
      on_ranks_of(host_of, [bucket](Communicator& group) {
        group.set_bucket_bytes(bucket);
        const std::int64_t numel = bucket == 1 ? 40'000 : 400'000;
        std::vector<std::vector<float>> data(4, wild_floats(group.rank(), numel));
        const auto expected = repeated(numel, [&](std::int64_t i) {
          return combined<DType::f32>(Reduction::sum, Values::wild, group.size(), i);
        });
        std::vector<Work> works;
        for (auto& one : data) works.push_back(group.all_reduce(host_tensor(one), host_tensor(one)));
        for (const Work& work : works) work.wait_host();
        for (const auto& one : data) require(one == expected, "an operation is wrong");
        // Operations in the pool's smallest blocks have these whole.
        const std::size_t most = bucket == 1 ? 4 * 2 * least : std::max(bucket, 4 * 2 * least);
        require(bucket == 0 || group.most_staging_bytes() <= most,
                fmt::format("{} bytes were borrowed of {}", group.most_staging_bytes(), bucket));
      });
    }
  }
}
