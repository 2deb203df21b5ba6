#pragma once
// Checks that ranks agree on options, data, programs and state before they train together.

#include <string>
#include <vector>

#include "base/cli/options.hpp"
#include "base/io/files.hpp"
#include "comm/ranks.hpp"
#include "data/read/mixture.hpp"
#include "model/model_spec.hpp"
#include "parallel/state/model_storage.hpp"

namespace dt::train {

/// Checks that the ranks have the same options, data and programs. Warns of different instruction
/// sets and of other differences in the environment.
/// Errors: usage if options differ, input if data or programs differ. The error is raised on all
/// ranks. It names rank 0's host, the first host that differs, and the difference.
/// Collective: all ranks.
void check_same_settings(const comm::Ranks& ranks, const std::vector<OptionValue>& asked,
                         const data::Mixture& dataset);

/// Checks that ranks that hold the same shard have the same bits of weights and optimizer's state, since
/// replicas would drift apart unnoticed otherwise.
/// Errors: input, on all ranks, if they differ.
/// Collective: all ranks, each with the state that it is about to compute with.
void check_same_state(const comm::Ranks& ranks, const model::ModelSpec& spec, const Context& context,
                      const parallel::ModelStorage& storage);

/// Checks that all ranks see the same content in rank 0's `path`. Network file systems show changes
/// late, so ranks retry for some seconds.
/// Errors: environment, on all ranks, naming a rank that does not see it.
/// Collective: all ranks.
void check_same_view(const comm::Ranks& ranks, const fs::path& path);

}  // namespace dt::train
