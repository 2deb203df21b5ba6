#pragma once
// Aborts communicators whose peers may not know of the failure.

#include <vector>

#include "comm/nccl/functions.cuh"

namespace dt::comm::nccl {

/// Aborts the communicators; ignores null ones. NCCL frees the GPU at once. It may then wait for
/// peers on this host, which learn of the abort only when this rank ends. So the function waits a
/// few seconds for the abort, which may then go on by itself.
/// Source: NCCL User Guide, "ncclCommAbort".
void abort_all(std::vector<ncclComm_t> comms) noexcept;

}  // namespace dt::comm::nccl
