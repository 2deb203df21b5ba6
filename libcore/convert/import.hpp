#pragma once
// Imports a Hugging Face folder as a checkpoint of step 0.

#include <filesystem>
#include <functional>

#include "checkpoint/manifest.hpp"
#include "convert/hf_folder.hpp"

namespace dt::convert {

/// Returns the bytes of all weights in their stored types.
std::uint64_t weight_bytes(const HfFolder& source);

/// Writes a model's weights and the tokenizer's files as the checkpoint `out`. The weights have
/// dt's names, and the types that they have in the folder. The checkpoint is of step 0 and has
/// weights alone; it is complete or absent. If `out` is named as a run's checkpoints are, its
/// generation is the name's, else 0. `written` receives payload bytes as they go. Importing takes
/// memory for a few blocks, whatever the model's size.
/// Errors: input: `out` exists or is named after a later step, those of HfFolder::read(); environment.
/// After a crash: a hidden folder is left.
checkpoint::Manifest import_hf(const HfFolder& source, const fs::path& out,
                               const std::function<void(std::uint64_t)>& written = {});

}  // namespace dt::convert
