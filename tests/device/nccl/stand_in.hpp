#pragma once
// What plays NCCL on the test device, for ranks that are threads or processes of one host: messages go
// through shared memory when their streams come to them. What is grouped goes at once; what is sent is done
// when it was received; without a group, or with groups in orders that do not fit, ranks wait for ever, as
// they would.

#include "comm/nccl/functions.cuh"

namespace dt::test_device {

/// The `operation`-th from now on of this process (from 1) meets an asynchronous error, or never ends.
enum class NcclFault { error, hang };
void break_nccl_at(long operation, NcclFault fault);

/// How many communicators this process has.
long num_nccl_communicators();

/// How often an operation of this process was the first of its kind in its communicator, or of a send or
/// receive the first with its peer. NCCL connects ranks then, for which it may wait for all that the device
/// was given.
long num_nccl_connections();

/// How many stretches of memory are registered now, by all communicators of this process.
long num_nccl_registrations();

/// The most thread blocks that one rank's operations held of its GPU at a time, since this was last asked.
/// One that has begun holds its communicator's, also while it waits for its peers.
int take_most_nccl_ctas();
/// Of a communicator that does not say how many: as many as NCCL has channels for.
inline constexpr int unlimited_ctas = 32;

const comm::nccl::Functions& nccl_stand_in();

}  // namespace dt::test_device
