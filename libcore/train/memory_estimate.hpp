#pragma once
// What training takes of its hosts' memory, before anything is allocated.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "parallel/model_storage.hpp"
#include "train/plan.hpp"

namespace dt::train {

/// Bytes that training needs on a rank, from the very tables that allocate them.
struct MemoryEstimate {
  parallel::StorageBytes storage;
  std::size_t activations = 0;  // the most that the rank's list makes it hold, and what kernels work in
  std::size_t batches = 0;
  std::size_t copy = 0;      // of the state, to be written in the background or by another rank
  std::size_t arriving = 0;  // in messages of other ranks
  std::size_t total() const { return storage.total() + activations + batches + copy + arriving; }
};

/// Of each stage's ranks: of the one that has the most micro-batches.
std::vector<MemoryEstimate> estimate_memory(const Plan& plan);

/// What all ranks of a host take together, of the host where that is most: all of the estimate.
std::uint64_t host_memory_bytes(const Plan& plan, const std::vector<MemoryEstimate>& stages);
/// The same of what no list can spare: weights, gradients and the optimizer's state; in evaluation (a plan
/// without micro-batches) weights alone.
std::uint64_t host_state_bytes(const Plan& plan);

/// The plan that other settings would make for the same ranks. Error{usage}: none.
using Replan = std::function<Plan(const Settings&)>;

/// Options that would bring what a host needs within its memory, each the least of its kind: more computed
/// again, a higher stage of ZeRO, a longer pipeline, or, where none of these will do alone, the last two
/// together. "--zero 2 or --pp 4", "" where nothing would.
std::string nearest_that_fit(const Settings& settings, const Plan& plan, const Replan& replan,
                             const std::function<std::uint64_t(const Plan&)>& needed_bytes,
                             std::uint64_t host_bytes);

/// Error{usage}, with the nearest that would do: the state of a host's ranks exceeds its memory.
void check_memory(const Settings& settings, const Plan& plan, const Replan& replan, std::uint64_t host_bytes);

}  // namespace dt::train
