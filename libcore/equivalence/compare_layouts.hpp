#pragma once
// dt-train --compare-layouts: the proof that a layout changes nothing but speed and memory.

#include "base/system/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::equivalence {

/// Makes the same steps from the same weights under each layout, one after the other, and prints how
/// the others differ from the first. A layout runs on the first ranks that it needs. Nothing is written
/// to a run. Returns 0, or 128 + the signal that stopped it.
/// Collective: all ranks call it.
/// Errors: verification, two layouts break the promise that holds for them; usage, before any work,
/// impossible layouts (see parse_layouts()); input, a loss that is not finite.
int compare_layouts(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                    const StopSignals& signals, const comm::Ranks& ranks);

}  // namespace dt::equivalence
