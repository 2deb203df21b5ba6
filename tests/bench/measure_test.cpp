#include "bench/measure.hpp"

#include <catch2/catch.hpp>
#include <mutex>

#include "base/error.hpp"
#include "bench/pattern.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

/// dt's operations, but the last rank damages its result.
class DamagingBackend final : public Backend {
 public:
  explicit DamagingBackend(comm::Communicator& group) : group_(group), inner_(group) {}
  const char* name() const override { return "damaging"; }
  void require(Operation, DType, comm::Reduction) const override {}
  int in_place_part() const override { return inner_.in_place_part(); }
  Call prepare(const Problem& problem, const Tensor& in, const Tensor& out) override {
    const Call call = inner_.prepare(problem, in, out);
    if (group_.rank() != group_.size() - 1 || !out) return call;
    return [call, out] {
      call();
      out.raw()[out.bytes() / 2] ^= std::byte{2};
    };
  }

 private:
  comm::Communicator& group_;
  DtBackend inner_;
};

/// Runs on every rank; Catch2's assertions are for one thread at a time.
template <class Body>
void on_ranks(int size, const Body& body) {
  static std::mutex mutex;
  comm::run_threads(size, [&](comm::Communicator& group) {
    body(group, mutex);
    return 0;
  });
}

}  // namespace

TEST_CASE("dt's operations are right out of place and in place") {
  const MeasureSettings settings{.iterations = 2, .warmup = 1, .checks = 2};
  for (const int size : {1, 2, 3, 4}) {
    on_ranks(size, [&](comm::Communicator& group, std::mutex& mutex) {
      DtBackend backend(group);
      Workspace workspace(1 << 20);
      for (const OperationTraits& entry : operations()) {
        for (const std::string& dtype : dtype_names()) {
          if (entry.reduces && dtype == "uint8") continue;
          for (const std::string& reduction : reduction_names()) {
            const Problem whole{.operation = entry.operation,
                                .dtype = parse_dtype_name(dtype),
                                .reduction = parse_reduction_name(reduction),
                                .root = size - 1,
                                .num_ranks = size};
            for (const Problem& problem : at_sizes(whole, std::vector<std::int64_t>{8, 6000, 200000})) {
              for (const bool in_place : {false, true}) {
                if (in_place && !entry.has_in_place) continue;
                const Timing timing = measure(group, backend, problem, in_place, workspace, settings);
                const std::lock_guard lock(mutex);
                INFO(entry.name << " " << dtype << " " << reduction << " " << problem.bytes() << " of "
                                << size);
                CHECK(timing.wrong == (entry.has_data ? std::optional<std::int64_t>(0) : std::nullopt));
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

TEST_CASE("a wrong element on one rank is known to all") {
  for (const OperationTraits& entry : operations()) {
    if (!entry.has_data) continue;
    on_ranks(3, [&](comm::Communicator& group, std::mutex& mutex) {
      DamagingBackend backend(group);
      Workspace workspace(1 << 12);
      const Problem problem{.operation = entry.operation, .num_ranks = 3, .numel = 300};
      const MeasureSettings settings{.iterations = 1, .warmup = 0, .checks = 5};
      const Timing timing = measure(group, backend, problem, false, workspace, settings);
      const std::lock_guard lock(mutex);
      INFO(entry.name);
      CHECK(timing.wrong == 5);
    });
  }
}

TEST_CASE("without checks nothing is said about results") {
  on_ranks(2, [](comm::Communicator& group, std::mutex& mutex) {
    DamagingBackend backend(group);
    Workspace workspace(1 << 12);
    const Problem problem{.num_ranks = 2, .numel = 300};
    const MeasureSettings settings{.iterations = 1, .warmup = 0, .checks = 0};
    const Timing timing = measure(group, backend, problem, true, workspace, settings);
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
      int in_place_part() const override { return 0; }
      Call prepare(const Problem& problem, const Tensor&, const Tensor&) override {
        int& counter = problem.operation == Operation::barrier ? barriers : calls;
        return [&counter] { ++counter; };
      }
    } backend;
    Workspace workspace(64);
    measure(group, backend, {.numel = 2}, true, workspace, {.iterations = 7, .warmup = 3, .checks = 2});
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
