// Large operations of ranks on one host have the same bits as by messages, at every border of segments.

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "comm/backend.hpp"
#include "comm/check_operations.hpp"
#include "comm/node/node_window.hpp"
#include "comm/samples.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

constexpr std::int64_t least_bytes = 128 << 10;  // a window is used from this size on

/// Returns the elements in a segment of all ranks' pieces.
std::int64_t segment_of(const Communicator& group, DType dtype) {
  const NodeWindow window(0, group.size());
  return static_cast<std::int64_t>(window.piece_bytes() / dtype_bytes(dtype)) * group.size();
}

template <DType dtype>
void check_reductions(Communicator& group) {
  const std::int64_t numel = least_bytes / static_cast<std::int64_t>(dtype_bytes(dtype));
  int turn = 0;
  for (const Reduction reduction : {Reduction::sum, Reduction::product, Reduction::min, Reduction::max}) {
    check_operations<dtype>(
        group, {.numel = numel + 4093 * turn, .reduction = reduction, .in_place = turn % 2 == 0});
    ++turn;
  }
}

std::vector<float> wild_floats(int rank, std::int64_t numel) {
  return repeated(numel, [&](std::int64_t i) { return sample<DType::f32>(Values::wild, rank, i); });
}

}  // namespace

TEST_CASE("around the borders of a window's use and of its segments, all operations keep their bits") {
  on_ranks([](Communicator& group) {
    const std::int64_t segment = segment_of(group, DType::f32);
    const std::int64_t slots = NodeWindow::num_slots * segment;
    for (const std::int64_t border : {least_bytes / 4, segment, slots}) {
      for (const std::int64_t numel : {border - 1, border, border + 1, border + group.size() + 1}) {
        check_operations<DType::f32>(group, {.numel = numel, .in_place = numel % 2 == 0});
      }
    }
    check_operations<DType::f32>(group, {.numel = 3 * slots + 17, .in_place = true});
    check_operations<DType::bf16>(group,
                                  {.numel = 2 * segment_of(group, DType::bf16) - 1, .in_place = false});
  });
}

TEST_CASE("large operations know all dtypes and reductions") {
  on_ranks([](Communicator& group) {
    check_reductions<DType::f64>(group);
    check_reductions<DType::f32>(group);
    check_reductions<DType::bf16>(group);
    check_reductions<DType::f16>(group);
    check_reductions<DType::i64>(group);
    check_reductions<DType::i32>(group);
    check_reductions<DType::u64>(group);
    check_reductions<DType::u32>(group);
  });
}

TEST_CASE("large operations of a group and its parts go side by side, from the first on") {
  on_ranks([](Communicator& world) {
    const std::unique_ptr<Communicator> half = world.split(world.rank() % 2, world.rank(), "half");
    const auto numel = static_cast<std::int64_t>(NodeWindow::num_slots) * segment_of(world, DType::f32) + 5;
    std::vector<std::vector<float>> data;
    std::vector<Work> works;
    for (int i = 0; i < 6; ++i) data.push_back(wild_floats(world.rank(), numel + 1000 * i));
    for (int i = 0; i < 6; ++i) {
      const Tensor view = host_tensor(data[static_cast<std::size_t>(i)]);
      works.push_back((i % 2 == 0 ? world : *half).all_reduce(view, view));
    }
    for (int i = 0; i < 6; ++i) works[static_cast<std::size_t>((5 * i + world.rank()) % 6)].wait_host();
    for (int i = 0; i < 6; i += 2) {
      for (std::int64_t at = 0; at < numel; at += 97) {
        require(same_bits(data[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)],
                          combined<DType::f32>(Reduction::sum, Values::wild, world.size(), at)),
                "an operation of the world is wrong");
      }
    }
  });
}

TEST_CASE("by messages or through a window, the bits of a part of the ranks are the same on all of them") {
  std::vector<float> by_window;
  std::vector<float> by_messages;
  const auto body = [](std::vector<float>& kept) {
    return [&kept](Communicator& world) {
      const std::unique_ptr<Communicator> subgroup =
          world.split(world.rank() == 0 ? 1 : 0, -world.rank(), "part");
      std::vector<float> data = wild_floats(world.rank(), 100'003);
      subgroup->all_reduce(host_tensor(data), host_tensor(data)).wait_host();
      world.all_reduce(host_tensor(data), host_tensor(data), Reduction::max).wait_host();
      if (world.rank() == 0) kept.insert(kept.end(), data.begin(), data.end());
    };
  };
  on_ranks_of(same_host, body(by_window));
  on_ranks_of(own_host, body(by_messages));
  CHECK(by_window == by_messages);
}

TEST_CASE("ranks that call different large operations are told, or time out") {
  on_ranks_of(same_host, [](Communicator& group) {
    if (group.size() == 1) return;
    std::vector<float> data(200'000, 1);
    group.all_reduce(host_tensor(data), host_tensor(data)).wait_host();
    group.engine().set_timeout(0.3);
    const std::int64_t numel = group.rank() == 0 ? 200'000 : 199'000;
    const Tensor view = host_tensor(data).flat(0, numel);
    const Error error = error_of([&] { group.all_reduce(view, view).wait_host(); });
    require(error.message().find("another operation") != std::string::npos ||
                error.message().find("did not complete within") != std::string::npos ||
                error.message().find("failed") != std::string::npos,
            "another error: " + error.message());
    group.engine().set_timeout(0);
  });
}

TEST_CASE("after a large operation that was given up, later ones of the group fail instead of waiting") {
  on_ranks_of(same_host, [](Communicator& world) {
    if (world.size() == 1) return;
    const std::unique_ptr<Communicator> doomed = world.split(0, world.rank(), "doomed");
    std::vector<float> data(200'000, 1);
    doomed->all_reduce(host_tensor(data), host_tensor(data)).wait_host();
    if (world.rank() > 0) {
      world.engine().set_timeout(0.2);
      const Error late =
          error_of([&] { doomed->all_reduce(host_tensor(data), host_tensor(data)).wait_host(); });
      require(late.message().find("did not complete within") != std::string::npos, late.message());
      world.engine().set_timeout(0);
    }
    world.barrier().wait_host();
    if (world.rank() > 0) {
      const Error ended =
          error_of([&] { doomed->all_reduce(host_tensor(data), host_tensor(data)).wait_host(); });
      require(ended.message().find("was cancelled") != std::string::npos, ended.message());
    }
  });
}
