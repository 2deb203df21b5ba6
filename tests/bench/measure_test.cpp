#include "bench/measure.hpp"

#include <catch2/catch.hpp>
#include <mutex>

#include "base/error.hpp"
#include "bench/pattern.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

/// The context and workspace on which a rank measures.
struct OnDevice {
  OnDevice(comm::Communicator& group, Device device, std::int64_t max_bytes)
      : context(1, device), computes_on(group.engine(), context), workspace(context, max_bytes) {}
  Context context;
  comm::ScopedDevice computes_on;
  Workspace workspace;
};

/// Changes a byte in the middle.
void damage(const Context& context, const Tensor& out) {
  const Tensor byte(out.raw() + out.bytes() / 2, DType::u8, {1}, out.device());
  const std::byte wrong = *HostMirror(context, byte).tensor().raw() ^ std::byte{2};
  fill_from_host(context, Piece::whole({1}), byte,
                 [&](const Piece&, const Tensor& values) { *values.raw() = wrong; });
}

/// A backend with dt's operations in which the last rank damages its result.
class DamagingBackend final : public Backend {
 public:
  DamagingBackend(comm::Communicator& group, const Context& context)
      : group_(group), context_(context), inner_(group) {}
  const char* name() const override { return "damaging"; }
  void require(Operation, DType, comm::Reduction) const override {}
  int in_place_part(Operation operation) const override { return inner_.in_place_part(operation); }
  CollectiveCall prepare(const Problem& problem, const Tensor& in, const Tensor& out) override {
    return damaged(inner_.prepare(problem, in, out), out);
  }
  CollectiveCall transfer(int to, const Tensor& in, int from, const Tensor& out) override {
    return damaged(inner_.transfer(to, in, from, out), out);
  }

 private:
  CollectiveCall damaged(const CollectiveCall& call, const Tensor& out) {
    if (group_.rank() != group_.size() - 1 || !out) return call;
    return {[&context = context_, call, out] {
      call();
      damage(context, out);
    }};
  }

  comm::Communicator& group_;
  const Context& context_;
  DtBackend inner_;
};

/// Runs `body` on every rank. A lock guards Catch2's assertions, which are for one thread at a time.
template <class Body>
void on_ranks(int size, const Body& body) {
  static std::mutex mutex;
  comm::run_threads(size, [&](comm::Communicator& group) {
    body(group, mutex);
    return 0;
  });
}

/// Checks every operation.
void check_all(Device device, const std::vector<int>& sizes, const std::vector<std::int64_t>& bytes,
               const std::vector<std::string>& dtypes, const std::vector<std::string>& reductions) {
  const MeasureSettings settings{.iterations = 2, .warmup = 1, .checks = 2};
  for (const int size : sizes) {
    on_ranks(size, [&](comm::Communicator& group, std::mutex& mutex) {
      DtBackend backend(group);
      OnDevice place(group, device, 1 << 20);
      for (const OperationTraits& entry : operations()) {
        for (const std::string& dtype : dtypes) {
          if (entry.reduces && dtype == "uint8") continue;
          for (const std::string& reduction : reductions) {
            const Problem whole{.operation = entry.kind,
                                .dtype = value_in(dtype_names, dtype).value(),
                                .reduction = value_in(reduction_names, reduction).value(),
                                .root = size - 1,
                                .num_ranks = size};
            for (const Problem& problem : at_sizes(whole, bytes)) {
              for (const bool in_place : {false, true}) {
                if (in_place && !entry.has_in_place) continue;
                const Timing timing = measure(group, backend, problem, in_place, place.workspace, settings);
                const std::lock_guard lock(mutex);
                INFO(name_of(entry.kind)
                     << " " << dtype << " " << reduction << " " << problem.bytes() << " of " << size);
                CHECK(timing.wrong == (entry.has_data() ? std::optional<std::int64_t>(0) : std::nullopt));
                CHECK(timing.fastest_s > 0);
                CHECK(timing.fastest_s <= timing.mean_s * (1 + 1e-12));
                CHECK(timing.mean_s <= timing.slowest_s * (1 + 1e-12));
              }
            }
          }
        }
      }
    });
  }
}

void check_damage(Device device) {
  for (const OperationTraits& entry : operations()) {
    if (!entry.has_data()) continue;
    on_ranks(3, [&](comm::Communicator& group, std::mutex& mutex) {
      OnDevice place(group, device, 1 << 12);
      DamagingBackend backend(group, place.context);
      const int root = entry.to_root ? 2 : 0;  // the last rank must get something
      const Problem problem{.operation = entry.kind, .root = root, .num_ranks = 3, .numel = 300};
      const MeasureSettings settings{.iterations = 1, .warmup = 0, .checks = 5};
      const Timing timing = measure(group, backend, problem, false, place.workspace, settings);
      const std::lock_guard lock(mutex);
      INFO(name_of(entry.kind));
      CHECK(timing.wrong == 5);
    });
  }
}

}  // namespace

TEST_CASE("dt's operations are right out of place and in place") {
  check_all(Device::host(), {1, 2, 3}, {8, 6000, 150'000}, names_in(dtype_names), names_in(reduction_names));
}

TEST_CASE("dt's operations on a device are right out of place and in place", "[device]") {
  const test_device::Use device(1);
  check_all(Device::gpu(0), {1, 3}, {8, 150'000}, {"float", "half"}, {"sum"});
}

TEST_CASE("a wrong element on one rank is known to all") {
  check_damage(Device::host());
}

TEST_CASE("a wrong element on one rank's device is known to all", "[device]") {
  const test_device::Use device(2);
  check_damage(Device::gpu(0));
}

TEST_CASE("without checks nothing is said about results") {
  on_ranks(2, [](comm::Communicator& group, std::mutex& mutex) {
    OnDevice place(group, Device::host(), 1 << 12);
    DamagingBackend backend(group, place.context);
    const Problem problem{.num_ranks = 2, .numel = 300};
    const MeasureSettings settings{.iterations = 1, .warmup = 0, .checks = 0};
    const Timing timing = measure(group, backend, problem, true, place.workspace, settings);
    const std::lock_guard lock(mutex);
    CHECK_FALSE(timing.wrong.has_value());
  });
}

TEST_CASE("as many operations are performed as were asked for") {
  comm::run_alone([](comm::Communicator& group) {
    class Counting final : public Backend {
     public:
      int calls = 0, barriers = 0;
      const char* name() const override { return "counting"; }
      void require(Operation, DType, comm::Reduction) const override {}
      int in_place_part(Operation) const override { return 0; }
      CollectiveCall prepare(const Problem& problem, const Tensor&, const Tensor&) override {
        int& counter = problem.operation == Operation::barrier ? barriers : calls;
        return {[&counter] { ++counter; }};
      }
      CollectiveCall transfer(int, const Tensor&, int, const Tensor&) override { return {}; }
    } backend;
    OnDevice place(group, Device::host(), 64);
    measure(group, backend, {.numel = 2}, true, place.workspace, {.iterations = 7, .warmup = 3, .checks = 2});
    CHECK(backend.calls == 12);
    CHECK(backend.barriers == 1);
    return 0;
  });
}

TEST_CASE("what dt does not reduce is refused by name") {
  comm::run_alone([](comm::Communicator& group) {
    const DtBackend backend(group);
    backend.require(Operation::all_gather, DType::u8, comm::Reduction::sum);
    try {
      backend.require(Operation::all_reduce, DType::u8, comm::Reduction::sum);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.message().find("uint8") != std::string::npos);
    }
    return 0;
  });
}

TEST_CASE("a median is in the middle, of two in the middle the higher") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({5, 1}) == 5);
  CHECK(median({9, 1, 4}) == 4);
  CHECK(median({9, 1, 4, 7}) == 7);
}

TEST_CASE("slow is what is below a fraction of the median of its like") {
  const std::vector<std::string> likes{"A", "B", "A", "A", "B", "C"};
  const std::vector<double> values{100, 10, 79, 101, 8, 1};
  const std::vector<RelativeRate> standings = compare_to_median(likes, values, 0.8);
  std::vector<bool> are_slow;
  for (const RelativeRate& standing : standings) are_slow.push_back(standing.is_slow);
  CHECK(are_slow == std::vector<bool>{false, false, true, false, false, false});  // 8 is 0.8 of 10
  CHECK(standings[2].median == 100);
  CHECK(standings[4].median == 10);
  CHECK(standings[5].median == 1);
}

TEST_CASE("nothing is slow that is not measured, or beside fractions of 0") {
  for (const RelativeRate& standing : compare_to_median({"A", "A"}, {0, 0}, 0.8))
    CHECK_FALSE(standing.is_slow);
  for (const RelativeRate& standing : compare_to_median({"A", "A"}, {1, 9}, 0)) CHECK_FALSE(standing.is_slow);
}
