#pragma once
// What training takes of its hosts' and GPUs' memory, before anything is allocated.

#include <cstdint>
#include <vector>

#include "parallel/model_storage.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Bytes that training needs on a rank, from the very tables that allocate them.
struct MemoryEstimate {
  parallel::StorageBytes storage;
  std::size_t activations = 0;  // the most that the rank's list makes it hold, and what units work in
  std::size_t workspaces = 0;   // on a GPU, of cuBLASLt, cuDNN and dt's kernels, which take turns
  std::size_t batches = 0;
  std::size_t copy = 0;  // of the state, to be written in the background, by another rank or from a device
  std::size_t arriving = 0;   // in messages of other ranks
  std::size_t combining = 0;  // on a GPU, of what comes through streams to be summed
  std::size_t pinned = 0;     // of messages of a GPU's memory, which pass through the host's
  std::size_t nccl = 0;       // on a GPU, of NCCL's communicators: see nccl_memory
  std::size_t nccl_host = 0;  // of the same, pinned
  std::size_t context = 0;    // on a GPU, what CUDA takes for the process, and the libraries' code
  std::size_t total() const { return on_device() + beside_device() + context; }
  /// Where a rank computes on a GPU: what lies there beside its batch, and what its host holds for it.
  std::size_t on_device() const { return storage.total() + activations + workspaces + combining + nccl; }
  std::size_t beside_device() const { return batches + copy + arriving + pinned + nccl_host; }
};

/// Of each stage's ranks: of the one that has the most micro-batches.
std::vector<MemoryEstimate> estimate_memory(const Plan& plan);

/// What all ranks of a host take together, of the host where that is most: all of the estimate, or of ranks
/// that compute on GPUs, what lies beside these.
std::uint64_t host_memory_bytes(const Plan& plan, const std::vector<MemoryEstimate>& stages);
/// The same of what no list can spare: weights, gradients and the optimizer's state; in evaluation (a plan
/// without micro-batches) weights alone.
std::uint64_t host_state_bytes(const Plan& plan);
/// What all ranks that share a GPU take of it, of the one where that is most; in evaluation weights alone.
/// Contexts count on paper alone: what a GPU has free (Launch::gpu_free_bytes) is asked when they are there.
std::uint64_t gpu_memory_bytes(const Plan& plan);

}  // namespace dt::plan
