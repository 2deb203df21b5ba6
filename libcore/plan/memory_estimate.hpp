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
  std::size_t activations = 0;  // the most that the rank's list makes it hold, and what kernels work in
  std::size_t batches = 0;
  std::size_t copy = 0;  // of the state, to be written in the background, by another rank or from a device
  std::size_t arriving = 0;   // in messages of other ranks
  std::size_t combining = 0;  // on a GPU, of what comes through streams to be summed
  std::size_t pinned = 0;     // of messages of a GPU's memory, which pass through the host's
  std::size_t total() const { return on_device() + beside_device(); }
  /// Where a rank computes on a GPU: what lies there beside its batch, and what its host holds for it.
  std::size_t on_device() const { return storage.total() + activations + combining; }
  std::size_t beside_device() const { return batches + copy + arriving + pinned; }
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
std::uint64_t gpu_memory_bytes(const Plan& plan);

}  // namespace dt::plan
