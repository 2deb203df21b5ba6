#pragma once
// Chooses how training is laid out over ranks, from what a user asks.

#include <cstdint>

#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "plan/launch.hpp"

namespace dt::plan {

struct Settings;  // plan/settings.hpp

/// Returns the largest number of `num_ranks` that makes up whole models (--pp × --cp × --tp). The
/// other ranks are idle.
/// Errors: usage, there are fewer ranks than one model takes.
int num_ranks_used(const Settings& settings, int num_ranks);

/// Returns whether the launch's ranks make up groups of --zero-group, for the layout's --pp, --cp, --tp and
/// --zero.
bool allows_zero_group(const Settings& settings, const Launch& launch);

/// Returns the layout of the launch's ranks, all of which take part. dp is what --pp, --cp and --tp
/// leave of them. The table of stages is filled if there are several stages: from --stage-units, else
/// by cost for samples of that length.
/// Errors: usage, the layout does not fit the ranks or units. The error names the rule and the
/// nearest layouts that would do: as options, or as keys of the layout's text for a layout of
/// --compare-layouts.
model::Layout choose_layout(const Settings& settings, const model::ModelSpec& spec,
                            std::int64_t sequence_length, const Launch& launch);

}  // namespace dt::plan
