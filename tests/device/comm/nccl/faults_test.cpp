// Ranks whose NCCL fails, hangs, or is left.

#include "device/comm/nccl/streams.hpp"
#include "device/nccl/stand_in.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

constexpr int num_ranks = 3;

/// Returns the error of each rank if the `operation`-th of all ranks' operations is broken while they
/// reduce again and again.
std::vector<std::string> reasons_after(long operation, test_device::NcclFault fault, double timeout_s) {
  std::vector<std::string> reasons(num_ranks);
  run_on_streams(1, num_ranks, ReduceOrder::tree, [&](Communicator& group, Computing& computing) {
    group.barrier().wait_host();
    if (group.rank() == 0) test_device::break_nccl_at(operation, fault);
    group.barrier().wait_host();
    group.engine().set_timeout(timeout_s);
    const Tensor data = computing.unwritten(DType::f32, 100);
    const Error error = error_of([&] {
      for (;;) group.all_reduce(data, data).wait_host();
    });
    require(error.kind() == ErrorKind::environment, error.message());
    reasons[static_cast<std::size_t>(group.rank())] = error.message();
    const Error again = error_of([&] { group.all_reduce(data, data); });
    require(again.message() == error.message(),
            "what comes later is told something else: " + again.message());
  });
  test_device::break_nccl_at(0, fault);
  return reasons;
}

}  // namespace

TEST_CASE("an asynchronous error of NCCL's ends all ranks' communication", "[test-device]") {
  for (const long operation : {1, 2, 7}) {
    const std::vector<std::string> reasons = reasons_after(operation, test_device::NcclFault::error, 0.3);
    int num_blamed = 0;
    for (const std::string& reason : reasons) {
      const bool has_failed = reason.find("unhandled system error") != std::string::npos;
      num_blamed += has_failed ? 1 : 0;
      if (!has_failed)
        CHECK_THAT(reason, Catch::Contains("in group world") && Catch::Contains("did not complete within"));
    }
    CHECK(num_blamed == 1);
  }
}

TEST_CASE("an operation of NCCL's that hangs is named, on every rank", "[test-device]") {
  for (const std::string& reason : reasons_after(4, test_device::NcclFault::hang, 0.3))
    CHECK_THAT(reason, Catch::Contains("of 400 bytes in group world, step 0, did not complete within 0.3"));
}

TEST_CASE("a rank alone in an operation on a stream learns when its time is up, and can end",
          "[test-device]") {
  run_on_streams(1, 2, ReduceOrder::tree, [](Communicator& group, Computing& computing) {
    if (group.rank() == 1) return;
    group.engine().set_timeout(0.2);
    const Tensor data = computing.unwritten(DType::f32, 100);
    const Work work = group.all_reduce(data, data);
    const Error error = error_of([&] { work.wait_host(); });
    require(error.message().find("a rank has not entered it") != std::string::npos, error.message());
    require(error_of([&] { work.wait(computing.context); }).message() == error.message(), "it was forgotten");
  });
}

TEST_CASE("an operation on a stream without a wait ends communication", "[test-device]") {
  run_on_streams(1, 2, ReduceOrder::tree, [](Communicator& group, Computing& computing) {
    const Tensor data = computing.unwritten(DType::f32, 100);
    group.all_reduce(data, data).wait(computing.context);  // later work waits for it
    if (group.rank() == 1) return;
    { const Work forgotten = group.all_reduce(data, data); }
    const Error error = error_of([&] { group.all_reduce(data, data); });
    require(error.kind() == ErrorKind::internal, error.message());
    require(error.message().starts_with("no code waited for all_reduce"), error.message());
  });
}

TEST_CASE("where a rank fails, others that wait for its stream end, too", "[test-device]") {
  const auto body = [](Communicator& group, Computing& computing) {
    if (group.rank() == 1) throw environment_error("a node is lost");
    const Tensor data = computing.unwritten(DType::f32, 100);
    group.all_reduce(data, data).wait_host();
  };
  CHECK_THROWS_WITH(run_on_streams(1, num_ranks, ReduceOrder::tree, body), "a node is lost");
}

TEST_CASE("in the library's own order sums are its own, and what is exact the same", "[test-device]") {
  for (const int size : {2, 3, 4}) {
    CHECK_NOTHROW(run_on_streams(1, size, ReduceOrder::free, [](Communicator& group, Computing& computing) {
      for (const bool in_place : {false, true}) {
        check_all_reduce(group, computing, {10'003, DType::i64, in_place});
        check_parts(group, computing, {10'003, DType::i64, in_place});
        check_parts(group, computing, {12'000, DType::i64, in_place});
      }
      if (group.size() < 4) return;
      HostValues values(DType::f32, 50'000, group.rank());
      group.all_reduce(values.in, values.out).wait_host();
      const Tensor data = computing.placed(values.in);
      group.all_reduce(data, data).wait(computing.context);
      require(!computing.has_values(data, values.out), "NCCL's order is dt's");
    }));
  }
}
