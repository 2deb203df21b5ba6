#pragma once
// The tokenizer of a run. The data and the model must have the same one. The run keeps a copy of
// its files, which each checkpoint includes.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/cli/console.hpp"
#include "run/run_directory.hpp"

namespace dt::train {

namespace fs = std::filesystem;

/// Checks that the model's tokens are those of the data. `dataset` is the data's folder. `model` is
/// the checkpoint or Hugging Face folder of the weights, or "". A folder without a tokenizer's file
/// is accepted. Warns of a file that dt does not read.
/// Errors: input if a token means something else to the model than to the data.
void check_same_tokens(const fs::path& model, const fs::path& dataset, Console& console);

/// Makes run.tokenizer_path(), or rewrites a folder that does not fit. Such a folder has another
/// tokenizer.json than the data, lacks the data's chat template, or names an eos_token that ends no
/// text. It has the data's tokenizer.json and the other tokenizer files of `model`. If `model`
/// lacks them, it also has the data's chat template and tokenizer_config.json. If neither has a
/// tokenizer_config.json, it has one for AutoTokenizer. `ends` are the model's end-of-text ids. An
/// eos_token that is neither among them nor the data's becomes the data's, with a warning. dt's
/// byte tokenizer needs no file.
/// Errors: input, as for a dataset's folder and Reader, and for a file that is no JSON object;
/// environment.
void store_tokenizer(const run::RunDirectory& run, const fs::path& dataset, const fs::path& model,
                     const std::vector<std::int64_t>& ends, Console& console);

}  // namespace dt::train
