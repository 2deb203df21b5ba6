#pragma once
// A simulation of NCCL on the test device, for ranks that are threads or processes of one host. Messages go
// through shared memory when their streams come to them. Grouped calls go at once; a send is done when it
// was received. Ungrouped calls, or groups in orders that do not fit, make ranks wait for ever, as NCCL's
// would.

#include "comm/nccl/functions.cuh"

namespace dt::test_device {

/// Makes this process's `operation`-th operation from now on (from 1) meet an asynchronous error, or never
/// end.
enum class NcclFault { error, hang };
void break_nccl_at(long operation, NcclFault fault);

/// Returns how many communicators this process has.
long num_nccl_communicators();

/// Returns how often an operation of this process was the first of its kind in its communicator. For a send
/// or receive, counts the first with its peer. NCCL connects ranks then, and may wait for all work that the
/// device was given.
long num_nccl_connections();

/// Returns how many ranges of memory are registered now, by all communicators of this process.
long num_nccl_registrations();

/// Returns the most thread blocks that one rank's operations held of its GPU at a time, since the last
/// call. An operation that has begun holds its communicator's, also while it waits for its peers.
int take_most_nccl_ctas();
/// The limit of a communicator that sets none: as many as NCCL has channels.
inline constexpr int unlimited_ctas = 32;

const comm::nccl::NcclFunctions& nccl_stand_in();

}  // namespace dt::test_device
