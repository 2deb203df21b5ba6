#pragma once
// A Hugging Face folder as a checkpoint of step 0.

#include <filesystem>
#include <functional>

#include "checkpoint/manifest.hpp"
#include "interchange/hf_folder.hpp"

namespace dt::interchange {

/// Bytes of all weights in their stored types.
std::uint64_t weight_bytes(const HfFolder& source);

/// Writes a model's weights under dt's names, each in the type that it has in the folder, and the tokenizer's
/// files, as the checkpoint `out`: weights alone, of step 0, whole or not there. Memory: a few blocks,
/// whatever the model's size. Where `out` is named as a run's checkpoints are, its generation is the name's,
/// else 0. `written` is told payload bytes as they go. Errors: input: `out` exists or is named after a later
/// step, what HfFolder::read says; environment. A crash leaves a hidden folder.
checkpoint::Manifest import_hf(const HfFolder& source, const fs::path& out,
                               const std::function<void(std::uint64_t)>& written = {});

}  // namespace dt::interchange
