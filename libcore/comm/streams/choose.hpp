#pragma once
// Whether ranks on GPUs talk through NCCL, or by messages through their hosts' memory.

#include <string>
#include <vector>

#include "comm/gpus.hpp"
#include "comm/ranks.hpp"

namespace dt::comm {

struct StreamChoice {
  std::string library{};  // "NCCL 2.28.9", as all ranks have it; empty: GPUs' memory goes by messages
  std::string why_not{};  // what to warn of, where ranks that have GPUs of their own lack one
};

/// Called by all ranks together, of which the first `num_ranks` compute as `choice` says. Where it was not
/// asked for (--comm nccl) messages do where some rank lacks the library or shares its GPU, or is alone.
/// Errors, where it was asked for: usage, on CPUs; environment, naming rank and host: it is missing, older
/// than what dt was built with, or does not take ranks that share a GPU. In any case: environment, of ranks
/// whose libraries are of different versions.
StreamChoice choose_streams(const Ranks& ranks, const DeviceChoice& choice, const std::vector<SeenGpus>& seen,
                            int num_ranks);

}  // namespace dt::comm
