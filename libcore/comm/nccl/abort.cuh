#pragma once
// How communicators end whose peers may not know of it.

#include <vector>

#include "comm/nccl/functions.cuh"

namespace dt::comm::nccl {

/// Ends what is under way in them (null ones: nothing). NCCL lets go of the GPU at once, but then may wait
/// for peers of this host, which learn of it only by this rank's end: so it is waited for a few seconds, and
/// goes on by itself. Source: NCCL User Guide, "ncclCommAbort".
void abort_all(std::vector<ncclComm_t> comms) noexcept;

}  // namespace dt::comm::nccl
