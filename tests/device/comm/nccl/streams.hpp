#pragma once
// Ranks as threads, with groups that go through NCCL.

#include <catch2/catch.hpp>
#include <functional>

#include "comm/device_collectives/device_transport.hpp"
#include "comm/device_operations.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/nccl/in_tests.hpp"
#include "device/test_device.hpp"

namespace dt::comm::test {

inline constexpr double timeout_s = 20;

/// Runs `body` on every rank, each with a device of its own, on hosts of these names.
/// Errors: throws what a rank throws.
inline void run_on_streams(std::uint64_t seed, int size, ReduceOrder order,
                           const std::function<void(Communicator&, Computing&)>& body,
                           const HostOf& host_of = same_host) {
  const test_device::Use device(seed);
  accelerator().set_timeout(timeout_s);
  test_device::use_nccl();
  const auto body_of_rank = [&](Communicator& group) {
    Computing computing(group, test_device::nccl_device_of(group.rank()));
    group.set_device_transport(device_transport_library()->open(group, computing.context.device(), timeout_s),
                               order);
    body(group, computing);
    return 0;
  };
  run_threads(size, body_of_rank, host_of);
}

}  // namespace dt::comm::test
