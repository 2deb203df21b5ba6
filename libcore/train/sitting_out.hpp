#pragma once
// Ranks that make up no whole pipeline.

#include <functional>

#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Called by all ranks together: `body` on those that make up whole pipelines, while the others sit out,
/// told, for a job that goes on with fewer nodes must not end for that. Its exit code, on all. A request to
/// stop that reaches none but one of those others does nothing.
int on_used_ranks(const plan::Settings& settings, const comm::Ranks& ranks,
                  const std::function<int(const comm::Ranks&)>& body);

/// Called by all ranks together: how those that make up whole pipelines would train, of --ranks where that is
/// given. Tells of others.
/// Error{usage}, on all ranks: there is no whole pipeline.
plan::Launch find_used_launch(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::train
