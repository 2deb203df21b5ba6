#pragma once
// What ranks must have in common before they train together.

#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/options.hpp"
#include "comm/ranks.hpp"
#include "data/mixture.hpp"
#include "model/model_spec.hpp"
#include "parallel/model_storage.hpp"

namespace dt::train {

/// Called by all ranks together. Errors, on all ranks, naming rank 0's host, the first other and what
/// differs: usage, where options do; input, where data or programs do. Other instruction sets, and other
/// settings of the environment, are warned of.
void check_alike(const comm::Ranks& ranks, const std::vector<OptionValue>& asked,
                 const data::Mixture& dataset);

/// Called by all ranks together, with what each is about to compute with. Error{input}, on all ranks, where
/// model, weights or moments are not the same bits: replicas would drift apart unnoticed.
void check_same_state(const comm::Ranks& ranks, const model::ModelSpec& spec, const Context& context,
                      const parallel::ModelStorage& storage);

/// Called by all ranks together: does rank 0's `path` have the same content for everyone? Network file
/// systems show changes late, so ranks look again for some seconds. Error{environment}, on all ranks, naming
/// one that does not see it.
void check_visible(const comm::Ranks& ranks, const fs::path& path);

}  // namespace dt::train
