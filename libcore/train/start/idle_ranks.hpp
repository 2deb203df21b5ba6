#pragma once
// Idle ranks, which are part of no complete pipeline.

#include <functional>

#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Runs `body` on the ranks that form complete pipelines, while the other ranks are idle. Reports
/// the idle ranks; a job that continues with fewer nodes must not end because of them. Returns the
/// exit code on all ranks. A request to stop that reaches only an idle rank has no effect.
/// Collective: all ranks.
int run_on_used_ranks(const plan::Settings& settings, const comm::Ranks& ranks,
                      const std::function<int(const comm::Ranks&)>& body);

/// Returns how the ranks that form complete pipelines would train, or --ranks of them if given.
/// Reports idle ranks.
/// Errors: usage, on all ranks, if there is no complete pipeline.
/// Collective: all ranks.
plan::Launch find_used_launch(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::train
