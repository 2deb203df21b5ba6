#pragma once
// Limits the SMs of a GPU that a group's operations may hold. NCCL's kernels run one block (CTA) a
// channel, and a block holds an SM until its data have come.

namespace dt::comm {

/// The work beside which a group's operations run.
enum class DeviceGroupUse {
  world,        // all ranks: decisions, and what has no group of its own
  overlapping,  // sums of gradients and gathers of weights, while units compute
  waited_for,   // layers and sequences that ranks divide: computing waits for the exchange
  pipeline,     // one channel between two stages, whose receives are posted before the data are sent
};

/// Returns the most CTAs of a communicator of that use (NCCL's maxCTAs); 0: as many as NCCL chooses. The
/// communicator's configuration and the memory estimate both read it.
constexpr int max_ctas(DeviceGroupUse use) {
  // An H100 has 132 SMs. A stage's two standing receives hold 4 of them, and what overlaps holds
  // 16. NCCL takes two channels for a peer behind a network or PCIe, and up to 32 behind NVLink
  // (ncclTopoGetNchannels in src/graph/paths.cc of 2.28). The latter move data faster than a stage
  // computes them.
  constexpr int of_overlapping = 16, of_pipeline = 2;
  switch (use) {
    case DeviceGroupUse::overlapping:
      return of_overlapping;
    case DeviceGroupUse::pipeline:
      return of_pipeline;
    case DeviceGroupUse::world:
    case DeviceGroupUse::waited_for:
      return 0;
  }
  return 0;
}

}  // namespace dt::comm
