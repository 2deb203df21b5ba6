#pragma once
// How training is laid over ranks, from what a user asks.

#include <cstdint>

#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// The most of `num_ranks` that make up whole models (--pp × --cp × --tp); the others sit out. Error{usage}:
/// there are fewer than one takes.
int ranks_used(const Settings& settings, int num_ranks);

/// Returns whether the launch's ranks make up groups of --zero-group, for the layout's --pp, --cp, --tp and
/// --zero.
bool allows_zero_group(const Settings& settings, const Launch& launch);

/// Of the launch's ranks, all of which take part: dp is what --pp, --cp and --tp leave of them. The table of
/// stages is filled where there is more than one: from --stage-units, else by cost for samples of that
/// length. Error{usage}: ranks or units that it does not fit, with the rule and the nearest that would do, in
/// options, or for a layout of --compare-layouts in the keys of its text.
model::Layout choose_layout(const Settings& settings, const model::ModelSpec& spec,
                            std::int64_t sequence_length, const Launch& launch);

}  // namespace dt::plan
