#pragma once
// dt-train --compare-layouts: the proof that a layout changes nothing but speed and memory.

#include <optional>
#include <string>
#include <vector>

#include "base/system/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"

namespace dt::equivalence {

/// A layout of training, parsed from text.
struct ComparedLayout {
  std::string name;         // "dp=4,zero=3"
  int ranks = 1;            // pp × dp × cp × tp, the first of all ranks
  plan::Settings settings;  // all layouts' settings, with what this one says
};

/// Parses "dp=4; pp=2,dp=2,recompute=full". Layouts are separated by semicolons. Each is a list of
/// pp, schedule, virtual-stages, stage-units (as 5+7+7+5), dp, cp, tp, sp, zero, zero-group,
/// comm-bucket-bytes, recompute, micro-batch and threads. dp defaults to the ranks that pp, cp and
/// tp leave. stage-units defaults to a division by cost if the number of stages is not that of
/// `base`. All else defaults to the values of `base`. All layouts have the same number of gradient
/// lanes: --grad-lanes, else the largest dp of any.
/// Errors: usage, naming the layout, the rule that it breaks, and the nearest that would do.
std::vector<ComparedLayout> parse_layouts(const std::string& text, const plan::Settings& base, int num_ranks);

/// The promise for two layouts of one run, in addition to the same data.
struct EquivalenceGuarantee {
  bool bit_identical = false;
  std::optional<double> max_loss_difference;  // relative, at most; none: 16 bits or TF32
};
EquivalenceGuarantee guarantee_between(const plan::Plan& a, const plan::Plan& b);

/// Makes the same steps from the same weights under each layout, one after the other, and prints how
/// the others differ from the first. A layout runs on the first ranks that it needs. Nothing is written
/// to a run. Returns 0, or 128 + the signal that stopped it.
/// Collective: all ranks call it.
/// Errors: verification, two layouts break the promise that holds for them; usage, before any work,
/// impossible layouts (see parse_layouts()); input, a loss that is not finite.
int compare_layouts(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                    const StopSignals& signals, const comm::Ranks& ranks);

}  // namespace dt::equivalence
