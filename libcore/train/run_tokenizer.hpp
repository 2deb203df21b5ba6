#pragma once
// The tokenizer on its way from data and model through a run: that both have the same one, and the run's copy
// of its files, which each checkpoint takes along.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/console.hpp"
#include "run/run_directory.hpp"

namespace dt::train {

namespace fs = std::filesystem;

/// `dataset`: its folder; `model`: the checkpoint or Hugging Face folder that the weights are from, or "".
/// Nothing is known of one without a tokenizer's file, and of a file that dt does not read a warning is
/// given. Error{input}: a token that means something else to the model than to the data.
void check_same_tokens(const fs::path& model, const fs::path& dataset, Console& console);

/// Makes run.tokenizer_path(), or anew where it has another tokenizer.json than the data or names another end
/// of a text than the model, or lacks the data's chat template: the data's file, what lies beside it in
/// `model`, what that lacks of the data's chat template and tokenizer_config.json, and a
/// tokenizer_config.json for AutoTokenizer where neither has one. `ends` are the model's ends of a text.
/// Files that name the text of none of them as eos_token are given that of the data's, with a warning. dt's
/// own bytes need no file. Errors: input, what a dataset's folder and Reader say, and a file that is no JSON
/// object; environment.
void keep_tokenizer(const run::RunDirectory& run, const fs::path& dataset, const fs::path& model,
                    const std::vector<std::int64_t>& ends, Console& console);

}  // namespace dt::train
