#pragma once
// The tokenizer on its way from data and model through a run: that both have the same one, and the run's copy
// of its files, which each checkpoint takes along.

#include <filesystem>

#include "base/console.hpp"
#include "data/token_dataset.hpp"
#include "run/run_directory.hpp"

namespace dt::train {

namespace fs = std::filesystem;

/// `model`: the checkpoint or Hugging Face folder that the weights are from, or "". Nothing is known of one
/// without a tokenizer's file, and of a file that dt does not read a warning is given. Error{input}: a token
/// that means something else to the model than to the data.
void check_same_tokens(const fs::path& model, const data::TokenDataset& dataset, Console& console);

/// Makes run.tokenizer_path(), or anew where it has another tokenizer.json than the data: that file, what
/// lies beside it in `model`, and tokenizer_config.json for AutoTokenizer where that has none. dt's own bytes
/// need no file. Errors: input, what TokenDataset's folder and Reader say; environment.
void keep_tokenizer(const run::RunDirectory& run, const data::TokenDataset& dataset, const fs::path& model);

}  // namespace dt::train
