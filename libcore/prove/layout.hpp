#pragma once
// Ways to divide training among ranks, as a text, and what is promised of any two of them.

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/settings.hpp"

namespace dt::prove {

struct ComparedLayout {
  std::string name;         // "dp=4,zero=3"
  int ranks = 1;            // pp × dp × cp × tp: the first so many
  plan::Settings settings;  // those of all, with what the layout says
};

/// "dp=4; pp=2,dp=2,recompute=full": layouts apart by semicolons, each a list of pp, schedule,
/// virtual-stages, stage-units (as 5+7+7+5), dp, cp, tp, sp, zero, zero-group, comm-bucket-bytes, recompute,
/// micro-batch and threads. dp defaults to as many as pp, cp and tp leave of all ranks, stage-units to by
/// cost where the stages are not as many as `base` has, the others to what `base` says. All have one number
/// of gradient lanes: --grad-lanes, else the largest dp of any. Error{usage} naming the layout, the rule that
/// it breaks, and the nearest that would do.
std::vector<ComparedLayout> parse_layouts(const std::string& text, const plan::Settings& base, int num_ranks);

/// What must hold of two layouts of one run, beside the same data.
struct Promise {
  bool same_bits = false;
  std::optional<double> loss_difference;  // relative, at most; none for 16 bits
};
Promise promise_of(const plan::Plan& a, const plan::Plan& b);

}  // namespace dt::prove
