#pragma once
// Ends communicators whose peers may not know of it.

#include <vector>

#include "comm/nccl/functions.cuh"

namespace dt::comm::nccl {

/// Ends what is under way in the communicators; null ones have nothing. NCCL lets go of the GPU at
/// once. It may then wait for peers of this host, which learn of the end only when this rank ends. So
/// the abort is waited for a few seconds, and then goes on by itself.
/// Source: NCCL User Guide, "ncclCommAbort".
void abort_all(std::vector<ncclComm_t> comms) noexcept;

}  // namespace dt::comm::nccl
