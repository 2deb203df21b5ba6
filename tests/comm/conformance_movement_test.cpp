// Gathers, broadcasts, messages and barriers: what every backend must do when it moves elements.

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fmt/format.h>
#include <thread>

#include "base/system/host.hpp"
#include "comm/backend.hpp"
#include "comm/samples.hpp"
#include "tensor/context.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

/// Returns whole numbers, which compare as their bits do.
template <class T>
std::vector<T> values_of(int rank, std::int64_t count) {
  return repeated(count, [rank](std::int64_t i) { return static_cast<T>(random_bits(rank, i)); });
}

template <class T>
void check_all_gather(Communicator& group, std::int64_t numel, bool in_place, DType dtype = dtype_of<T>(),
                      std::int64_t granule = 1) {
  const Range own = even_range(group.rank(), group.size(), numel, granule);
  Guarded<T> out(numel);
  Guarded<T> apart(in_place ? 0 : own.count);
  T* source = in_place ? out.data() + own.begin : apart.data();
  std::ranges::copy(values_of<T>(group.rank(), own.count), source);
  const Tensor in(source, dtype, {own.count}, Device::host());
  group.all_gather(in, out.view(dtype), granule).wait_host();
  for (int rank = 0; rank < group.size(); ++rank) {
    const Range range = even_range(rank, group.size(), numel, granule);
    require(std::ranges::equal(values_of<T>(rank, range.count),
                               out.span().subspan(static_cast<std::size_t>(range.begin),
                                                  static_cast<std::size_t>(range.count))),
            fmt::format("all_gather of {} elements: what rank {} brought is wrong", numel, rank));
  }
  require(out.is_intact() && apart.is_intact(), "all_gather wrote outside");
}

template <class T>
void check_broadcast(Communicator& group, std::int64_t numel, int root) {
  Guarded<T> data(numel);
  std::ranges::copy(values_of<T>(group.rank(), numel), data.data());
  group.broadcast(data.view(dtype_of<T>()), root).wait_host();
  require(std::ranges::equal(values_of<T>(root, numel), data.span()),
          fmt::format("a broadcast of {} elements from rank {} is wrong", numel, root));
  require(data.is_intact(), "broadcast wrote outside");
}

std::vector<std::int64_t> numbers_of(int rank, std::int64_t count) {
  return values_of<std::int64_t>(rank, count);
}

void nap(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

TEST_CASE("all_gather brings every part everywhere, in place and apart", "[hosts]") {
  on_ranks([](Communicator& group) {
    const std::int64_t n = group.size();
    for (const std::int64_t numel :
         {std::int64_t{0}, std::int64_t{1}, n - 1, n, 2 * n + 1, std::int64_t{5003}}) {
      for (const bool in_place : {false, true}) {
        check_all_gather<float>(group, numel, in_place);
        check_all_gather<std::uint8_t>(group, numel, in_place);
        check_all_gather<std::uint16_t>(group, numel, in_place, DType::bf16);
        check_all_gather<double>(group, numel, in_place);
      }
    }
    check_all_gather<float>(group, 65536 * n + 1, true);
    check_all_gather<std::int64_t>(group, 500'009, false);
    for (const std::int64_t numel : {0, 100, 4097, 50'000, 1'000'003}) {
      for (const bool in_place : {false, true})
        check_all_gather<float>(group, numel, in_place, DType::f32, 4096);
    }
  });
}

TEST_CASE("a broadcast from any root reaches everyone") {
  on_ranks([](Communicator& group) {
    for (int root = 0; root < group.size(); ++root) {
      for (const std::int64_t numel : {0, 1, 3, 1000}) {
        check_broadcast<std::int32_t>(group, numel, root);
        check_broadcast<std::uint8_t>(group, numel, root);
      }
      check_broadcast<float>(group, 131'072, root);
    }
    check_broadcast<float>(group, 1'000'003, group.size() - 1);
    check_broadcast<float>(group, 131'073, group.size() / 2);
  });
}

TEST_CASE("no rank leaves a barrier before all have entered it") {
  on_ranks([](Communicator& group) {
    const auto n = static_cast<std::size_t>(group.size());
    for (int late = 0; late < group.size(); ++late) {
      std::vector<double> times(2 * n);
      const Tensor all = host_tensor(times);
      const Tensor mine = all.flat(2 * group.rank(), 2);
      if (group.rank() == late) nap(5);
      mine.data<double>()[0] = monotonic_s();
      group.barrier().wait_host();
      mine.data<double>()[1] = monotonic_s();
      group.all_gather(mine, all).wait_host();
      for (std::size_t i = 0; i < n; ++i) {
        require(times[2 * static_cast<std::size_t>(late)] <= times[2 * i + 1], "a rank left too early");
      }
    }
  });
}

TEST_CASE("messages go round a ring") {
  on_ranks([](Communicator& group) {
    if (group.size() == 1) return;
    const Context context(1, Device::host());
    const int next = (group.rank() + 1) % group.size();
    const int previous = (group.rank() + group.size() - 1) % group.size();
    for (const std::int64_t count : {0, 1, 1000, 300'000}) {
      std::vector<std::int64_t> mine = numbers_of(group.rank(), count);
      std::vector<std::int64_t> theirs(mine.size());
      const Work receive = group.receive(previous, host_tensor(theirs));
      const Work send = group.send(next, host_tensor(mine));
      receive.wait(context);  // blocks on the CPU
      send.wait_host();
      require(theirs == numbers_of(previous, count), "a message of the ring is wrong");
    }
  });
}

TEST_CASE("messages between two ranks match in the order of calls, whatever else is under way") {
  on_ranks([](Communicator& group) {
    if (group.size() == 1) return;
    const std::vector<std::int64_t> sizes = {1, 200'000, 3, 0, 5000, 7, 70'000, 2};
    std::vector<std::vector<std::int64_t>> data;
    std::vector<std::int64_t> sums(30'000, 1);
    for (const std::int64_t size : sizes) {
      data.push_back(group.rank() == 0 ? numbers_of(static_cast<int>(size), size)
                                       : std::vector<std::int64_t>(static_cast<std::size_t>(size)));
    }
    std::vector<Work> works;
    // The two ranks interleave their messages and the group's operations in different ways.
    if (group.rank() != 0) works.push_back(group.all_reduce(host_tensor(sums), host_tensor(sums)));
    for (std::vector<std::int64_t>& message : data) {
      if (group.rank() == 0) works.push_back(group.send(1, host_tensor(message)));
      if (group.rank() == 1) works.push_back(group.receive(0, host_tensor(message)));
    }
    if (group.rank() == 0) works.push_back(group.all_reduce(host_tensor(sums), host_tensor(sums)));
    for (auto work = works.rbegin(); work != works.rend(); ++work) work->wait_host();
    for (std::size_t i = 0; i < sizes.size() && group.rank() == 1; ++i) {
      require(data[i] == numbers_of(static_cast<int>(sizes[i]), sizes[i]), "a message took another's place");
    }
    require(sums == std::vector<std::int64_t>(sums.size(), group.size()), "the sum is wrong");
  });
}

TEST_CASE("operations under way together end whatever the order in which ranks wait for them") {
  on_ranks([](Communicator& group) {
    std::vector<std::vector<std::int64_t>> data;
    for (const std::int64_t count : {200'000, 10, 50'000, 1, 3000, 150'000}) {
      data.emplace_back(static_cast<std::size_t>(count), group.rank() + count);
    }
    std::vector<Work> works;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const Tensor view = host_tensor(data[i]);
      works.push_back(i % 3 == 2 ? group.broadcast(view, group.size() - 1) : group.all_reduce(view, view));
    }
    for (std::size_t i = 0; i < works.size(); ++i) {
      works[(i * 5 + static_cast<std::size_t>(group.rank())) % works.size()].wait_host();
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto count = static_cast<std::int64_t>(data[i].size());
      const std::int64_t n = group.size();
      const std::int64_t expected = i % 3 == 2 ? n - 1 + count : n * count + n * (n - 1) / 2;
      require(data[i] == std::vector<std::int64_t>(data[i].size(), expected),
              "an operation's result is wrong");
    }
    require(group.engine().idle(), "something is left under way");
  });
}

TEST_CASE("progress alone brings an operation to its end") {
  on_ranks([](Communicator& group) {
    std::vector<std::int64_t> data(100'000, 1);
    const Work work = group.all_reduce(host_tensor(data), host_tensor(data));
    while (!work.done()) {
      group.engine().progress();
      std::this_thread::yield();
    }
    require(data.back() == group.size(), "the sum is wrong");
    group.barrier().wait_host();
  });
}
