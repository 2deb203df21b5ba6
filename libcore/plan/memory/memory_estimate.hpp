#pragma once
// Estimates what training takes of its hosts' and GPUs' memory, before anything is allocated.

#include <cstdint>
#include <memory>
#include <vector>

#include "model/units/unit.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Bytes that training needs on a rank, from the same tables that allocate them.
struct MemoryEstimate {
  parallel::StorageBytes storage;
  std::size_t activations = 0;  // most that the rank's list makes it hold, and the units' scratch
  std::size_t workspaces = 0;   // on a GPU, for cuBLASLt, cuDNN and dt's kernels, which take turns
  std::size_t batches = 0;
  std::size_t checkpoint_copy = 0;  // state to be written in the background, by another rank or from a device
  std::size_t receive_buffers = 0;  // received in messages of other ranks
  std::size_t reduce_buffers = 0;   // on a GPU, received through streams to be summed
  std::size_t pinned = 0;           // for messages of a GPU's memory, which pass through the host's
  std::size_t nccl = 0;             // on a GPU, for NCCL's communicators: see nccl_memory
  std::size_t nccl_host = 0;        // pinned for NCCL's communicators
  /// On a GPU, CUDA's own memory for the process, and the libraries' code. It counts in total(),
  /// but in neither on_device() nor host_bytes(): dt asks for a GPU's free memory once its
  /// contexts exist.
  std::size_t context = 0;
  std::size_t total() const { return device_bytes() + host_bytes() + context; }
  /// If a rank computes on a GPU, on_device() are the bytes there, without its batch, and
  /// host_bytes() are the bytes that its host holds for it.
  std::size_t device_bytes() const {
    return storage.total() + activations + workspaces + reduce_buffers + nccl;
  }
  std::size_t host_bytes() const { return batches + checkpoint_copy + receive_buffers + pinned + nccl_host; }
};

/// Returns the estimate of each stage, for its rank that has the most micro-batches.
std::vector<MemoryEstimate> estimate_memory(const Plan& plan);

/// Returns the bytes that all ranks of a host take together, on the host that needs most. It counts
/// the whole estimate, or for ranks that compute on GPUs only their memory on the host.
std::uint64_t host_memory_bytes(const Plan& plan, const std::vector<MemoryEstimate>& stages);
/// Returns the same for the memory that every list needs: weights, gradients and the optimizer's
/// state. In evaluation (a plan without micro-batches) these are weights alone.
std::uint64_t host_state_bytes(const Plan& plan);
/// Returns the bytes that all ranks that share a GPU take of it, on the GPU that needs most. In
/// evaluation it counts weights alone. Contexts count on simulated GPUs alone: otherwise they exist before
/// dt asks for a GPU's free memory (Launch::gpu_free_bytes).
std::uint64_t gpu_memory_bytes(const Plan& plan);

/// Returns the most scratch bytes of units, and on CPUs of kernels, while any unit of `own_units` (numbers
/// of `units`) trains on a micro-batch.
std::size_t scratch_bytes(const Plan& plan, const std::vector<std::unique_ptr<model::Unit>>& units,
                          const std::vector<int>& own_units);

/// Returns the most bytes of a GPU's memory that one kernel takes in addition to its unit's
/// scratch: a workspace of cuBLASLt, cuDNN or dt's own kernels. Returns 0 on CPUs.
std::size_t workspace_bytes(const Plan& plan);

}  // namespace dt::plan
