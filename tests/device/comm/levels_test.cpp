// Operations on streams of ranks on several nodes give the bits of the flat tree, and pass fewer bytes
// between nodes. Ranks take turns on one thread.

#include <catch2/catch.hpp>
#include <numeric>
#include <optional>

#include "comm/core/reduction.hpp"
#include "comm/device_collectives/device_group.hpp"
#include "comm/device_operations.hpp"
#include "comm/sent_bytes.hpp"
#include "device/counted_streams.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

/// Returns the host of each rank; each host has `per_host` ranks.
std::vector<int> rows_of(int per_host, int num_hosts) {
  std::vector<int> hosts;
  for (int rank = 0; rank < per_host * num_hosts; ++rank) hosts.push_back(rank / per_host);
  return hosts;
}

std::vector<int> hosts_of(const std::string& letters) {
  return {letters.begin(), letters.end()};
}

struct Trial {
  std::vector<int> hosts;
  std::int64_t numel;
  OperationKind kind = OperationKind::all_reduce;
  DType dtype = DType::f32;
  bool in_place = false;
  std::int64_t granule = 1;
  std::size_t staging_bytes = std::size_t{64} << 10;
  bool is_flat = false;

  int size() const { return static_cast<int>(hosts.size()); }
  Range part(int rank) const { return even_range(rank, size(), numel, granule); }
};

/// One rank of an operation.
class Rank {
 public:
  Rank(const Trial& trial, test_device::CountedNetwork& network, int rank)
      : trial_(trial),
        rank_(rank),
        values(trial.dtype, trial.numel, rank),
        context_(1, Device::gpu(rank)),
        in_(context_.device(), values.in.bytes()),
        out_(context_.device(), values.in.bytes()),
        group_(network.transport(rank, context_.device()), ReduceOrder::tree,
               trial.is_flat ? std::nullopt : placement_of(trial.hosts), trial.staging_bytes, "world", [] {}),
        result_(Device::host(), values.in.bytes()) {}

  void start() {
    const Tensor in(in_, trial_.dtype, {trial_.numel});
    const Tensor out = trial_.in_place ? in : Tensor(out_, trial_.dtype, {trial_.numel});
    const Range own = trial_.part(rank_);
    const auto range_of = [this](int rank) { return trial_.part(rank); };
    kernels::copy(context_, values.in, in);
    accelerator().wait_stream(group_.stream(), context_.stream());
    if (trial_.kind == OperationKind::all_reduce) group_.all_reduce(in, out, Reduction::sum);
    if (trial_.kind == OperationKind::reduce_scatter)
      group_.reduce_scatter(in, flat_view(out, own), Reduction::sum, range_of);
    if (trial_.kind == OperationKind::all_gather) group_.all_gather(flat_view(in, own), out, range_of);
    accelerator().wait_stream(context_.stream(), group_.stream());
    if (!trial_.in_place) kernels::zero(context_, in);
    kernels::copy(context_, out, Tensor(result_, trial_.dtype, {trial_.numel}));
  }
  Tensor result() {
    accelerator().synchronize(context_.stream());
    return {result_.data(), trial_.dtype, {trial_.numel}, Device::host()};
  }

 private:
  const Trial& trial_;
  int rank_;

 public:
  HostValues values;

 private:
  Context context_;
  Buffer in_, out_;
  DeviceGroup group_;
  Buffer result_;
};

bool have_same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// Runs the operation on all ranks, compares the bits with comm::combine, and returns the bytes that pass
/// between hosts.
std::int64_t checked_bytes(const Trial& trial, bool parts_are_equal = false) {
  const test_device::Use device(static_cast<std::uint64_t>(trial.numel + trial.size()));
  accelerator().set_timeout(20);  // the device polls exchanges, which must not last for ever
  test_device::CountedNetwork network(trial.size());
  std::deque<Rank> ranks;
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < trial.size(); ++rank)
    inputs.push_back(ranks.emplace_back(trial, network, rank).values.in);
  const Tensor expected = ranks[0].values.out;
  if (trial.kind == OperationKind::all_gather) {
    for (int rank = 0; rank < trial.size(); ++rank)
      cast(flat_view(inputs[static_cast<std::size_t>(rank)], trial.part(rank)),
           flat_view(expected, trial.part(rank)));
  } else {
    combine(Reduction::sum, inputs, expected);
  }
  for (Rank& rank : ranks) rank.start();
  for (int rank = 0; rank < trial.size(); ++rank) {
    const Range range =
        trial.kind == OperationKind::reduce_scatter ? trial.part(rank) : Range{0, trial.numel};
    INFO("rank " << rank << " of " << trial.size());
    CHECK(have_same_bits(flat_view(ranks[static_cast<std::size_t>(rank)].result(), range),
                         flat_view(expected, range)));
    if (!parts_are_equal || trial.is_flat) continue;
    const SentBytes told =
        sent_bytes(trial.kind, static_cast<double>(expected.bytes()), trial.dtype, trial.hosts, rank);
    CHECK(told.between_hosts == Approx(network.sent_between(rank, trial.hosts)));
  }
  return network.sent_between(trial.hosts);
}

/// Checks the ratio of bytes between nodes, by levels and without.
void check_ratio(Trial trial, std::int64_t fewer, std::int64_t of, bool is_small = false) {
  INFO(trial.size() << " ranks, " << name_of(trial.kind) << " of " << dtype_name(trial.dtype));
  const std::int64_t by_levels = checked_bytes(trial, !is_small);
  trial.is_flat = true;
  const std::int64_t flat = checked_bytes(trial);
  CHECK(by_levels * of == flat * fewer);
}

}  // namespace

TEST_CASE("between nodes of 8 ranks passes an eighth of the bytes, of 16-bit sums a quarter",
          "[test-device]") {
  for (const int num_nodes : {2, 3, 8}) {
    const std::vector<int> hosts = rows_of(8, num_nodes);
    const std::int64_t numel = 5 * 32 * 8 * num_nodes;
    check_ratio({hosts, numel, OperationKind::reduce_scatter}, 1, 8);
    if (num_nodes == 8) continue;  // many ranks take long on the test device
    check_ratio({hosts, numel, OperationKind::reduce_scatter, DType::bf16}, 1, 4);
    if (num_nodes == 3) continue;
    check_ratio({hosts, 8 * numel}, 1, 8);
    check_ratio({hosts, 16 * numel, OperationKind::all_reduce, DType::bf16}, 3, 16);  // gathers the sum
    check_ratio({hosts, 64}, 1, 8, true);
  }
}

TEST_CASE("in stretches that follow each other through few bytes of memory levels keep all bits",
          "[test-device]") {
  for (const std::string letters : {"aabbaabb", "aaaabbbb", "aaaabb", "aaabbb"}) {
    INFO(letters);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const bool in_place : {false, true}) {
        for (const OperationKind kind :
             {OperationKind::all_reduce, OperationKind::reduce_scatter, OperationKind::all_gather}) {
          Trial trial{hosts_of(letters), 1, kind, dtype, in_place};
          trial.staging_bytes = 16 << 10;
          if (kind == OperationKind::all_reduce) checked_bytes(trial);
          trial.numel = (8'009 * 8 / static_cast<std::int64_t>(dtype_bytes(dtype))) | 1;  // unequal ranges
          checked_bytes(trial);
          trial.granule = 96;
          checked_bytes(trial);
        }
      }
    }
  }
}

TEST_CASE("parts that are empty or of very different lengths go by levels, too", "[test-device]") {
  for (const OperationKind kind : {OperationKind::reduce_scatter, OperationKind::all_gather}) {
    Trial trial{hosts_of("aaaabbbb"), 3 * 4096 + 5, kind};
    trial.granule = 4096;
    trial.staging_bytes = 16'384;
    checked_bytes(trial);
  }
}

TEST_CASE("the host keeps pace with sums that take a kernel for each node", "[test-device]") {
  const test_device::Use device(3);
  accelerator().set_timeout(1);  // no other rank exchanges anything
  const Trial trial{rows_of(2, 32), 64 * 32 * 100, OperationKind::reduce_scatter};
  test_device::CountedNetwork network(trial.size());
  const Buffer memory(Device::gpu(0), static_cast<std::size_t>(trial.numel) * sizeof(float));
  const Tensor in(memory, DType::f32, {trial.numel});
  int times_held = 0;
  DeviceGroup group(network.transport(0, Device::gpu(0)), ReduceOrder::tree, placement_of(trial.hosts), 1,
                    "world", [&] {
                      ++times_held;
                      throw environment_error("held");
                    });
  CHECK_THROWS_WITH(group.reduce_scatter(in, flat_view(in, trial.part(0)), Reduction::sum,
                                         [&](int rank) { return trial.part(rank); }),
                    Catch::Contains("held"));
  CHECK(times_held == 1);
  CHECK(device.counts().kernels <= 8 * StreamThrottle::kernels_between_events);
}
