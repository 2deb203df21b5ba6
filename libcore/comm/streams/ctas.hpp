#pragma once
// How many SMs of a GPU a group's operations may hold: NCCL's kernels run one block (CTA) a channel, and a
// block holds an SM until its data have come.

namespace dt::comm {

/// What a group's operations run beside.
enum class StreamUse {
  world,        // all ranks: decisions, and what has no group of its own
  overlapping,  // sums of gradients and gathers of weights, while units compute
  waited_for,   // layers and sequences that ranks divide: computing waits for the exchange
  pipeline,     // one channel between two stages, whose receives are posted before the data are sent
};

/// Returns the most CTAs of a communicator of that use (NCCL's maxCTAs); 0: as many as NCCL chooses. The
/// communicator's configuration and the memory estimate both read it.
constexpr int most_ctas(StreamUse use) {
  switch (use) {
    case StreamUse::world:
    case StreamUse::overlapping:
    case StreamUse::waited_for:
    case StreamUse::pipeline:
      return 0;
  }
  return 0;
}

}  // namespace dt::comm
