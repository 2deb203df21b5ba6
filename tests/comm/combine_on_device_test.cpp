// A device combines ranks' values to the bits of the host's.

#include <catch2/catch.hpp>

#include "comm/core/reduction.hpp"
#include "comm/device_operations.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "kernels/combine.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

struct Trial {
  int num_ranks, own_rank;
  std::int64_t numel;
  DType dtype;
  Reduction reduction;
};

void check(Computing& computing, const Trial& trial) {
  const auto [num_ranks, own_rank, numel, dtype, reduction] = trial;
  std::deque<HostValues> values;
  std::vector<Tensor> inputs;
  const std::int64_t slot = numel + 3;  // longer than the values
  Buffer others(Device::host(), static_cast<std::size_t>((num_ranks - 1) * slot) * dtype_bytes(dtype));
  const Tensor others_RS(others, dtype, {num_ranks - 1, slot});
  const auto begin_of = [&](int rank) { return (rank < own_rank ? rank : rank - 1) * slot; };
  for (int rank = 0; rank < num_ranks; ++rank) {
    inputs.push_back(values.emplace_back(dtype, numel, rank).in);
    if (rank == own_rank) continue;
    const Tensor to = others_RS.flat(begin_of(rank), numel);
    std::memcpy(to.raw(), inputs.back().raw(), to.bytes());
  }
  const Tensor expected = values[0].out;
  combine(reduction, inputs, expected);
  const Tensor own = computing.placed(inputs[static_cast<std::size_t>(own_rank)]);
  const Tensor there = computing.placed(others_RS.flat(0, others_RS.numel()));
  kernels::combine_ranks(computing.context, reduction, {own, own_rank, there.reshaped({num_ranks - 1, slot})},
                         own);
  const std::string what = fmt::format("{} {} elements of {} ranks, own {}, reduction {}", numel,
                                       dtype_name(dtype), num_ranks, own_rank, static_cast<int>(reduction));
  require(computing.has_values(own, expected), what);
  if (accumulator_dtype(dtype) != dtype) {  // levels of a larger tree: a node's first, then the root's
    const Tensor own_again = computing.placed(inputs[static_cast<std::size_t>(own_rank)]),
                 node = computing.unwritten(DType::f32, numel);
    kernels::combine_ranks(computing.context, reduction,
                           {own_again, own_rank, there.reshaped({num_ranks - 1, slot})}, node);
    HostValues sum(DType::f32, numel, 0);
    combine(reduction, inputs, sum.in);
    require(computing.has_values(node, sum.in), what + ", not rounded");
    const HostValues wide_others(DType::f32, others_RS.numel(), 0);
    cast(others_RS.flat(0, others_RS.numel()), wide_others.in);
    std::vector<Tensor> nodes;
    for (int rank = 0; rank < num_ranks; ++rank)
      nodes.push_back(rank == own_rank ? sum.in : wide_others.in.flat(begin_of(rank), numel));
    const Tensor root = computing.unwritten(dtype, numel);
    kernels::combine_ranks(computing.context, reduction,
                           {node, own_rank, computing.placed(wide_others.in).reshaped({num_ranks - 1, slot})},
                           root);
    combine(reduction, nodes, sum.out);
    cast(sum.out, expected);
    require(computing.has_values(root, expected), what + ", rounded");
  }
  computing.forget();
}

}  // namespace

TEST_CASE("a device combines ranks' values as the host does", "[device]") {
  const test_device::Use device(1);
  const auto body = [](Communicator& group) {
    Computing computing(group, Device::gpu(0));
    const auto check_all = [&](int num_ranks, std::int64_t numel) {
      for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64,
                                DType::u32, DType::u64}) {
        for (const Reduction reduction : {Reduction::sum, Reduction::product, Reduction::min, Reduction::max})
          check(computing, {num_ranks, num_ranks / 2, numel, dtype, reduction});
      }
    };
    for (int num_ranks = 2; num_ranks <= 9; ++num_ranks) {
      check_all(num_ranks, 333);
      check(computing, {num_ranks, 0, 1, DType::f32, Reduction::sum});
      check(computing, {num_ranks, num_ranks - 1, 4099, DType::bf16, Reduction::sum});
    }
    for (const int num_ranks : {255, 256, 300})
      check(computing, {num_ranks, 7, 5, DType::f32, Reduction::sum});
    check_all(256, 5);
    return 0;
  };
  CHECK_NOTHROW(run_threads(1, body));
}
