#include "train/run_tokenizer.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "checkpoint/companions.hpp"
#include "data/dataset_file.hpp"
#include "data/same_tokens.hpp"

namespace dt::train {

namespace {

/// Of a model's folder, the file that says its tokens; "" where there is none.
fs::path tokenizer_of(const fs::path& model) {
  for (const char* name : {data::tokenizer_file_name, "tokenizer.model"}) {
    if (!model.empty() && file_exists(model / name)) return model / name;
  }
  return {};
}

bool has_tokenizer(const fs::path& folder, const data::TokenizerInfo& info) {
  const fs::path file = folder / data::tokenizer_file_name;
  return file_exists(file) && digest(read_file(file)) == info.digest;
}

/// All but what says the tokens, which is the data's.
void copy_what_lies_beside(const fs::path& model, const fs::path& folder) {
  if (model.empty()) return;
  if (path_exists(model / checkpoint::manifest_name)) {
    checkpoint::copy_companions(checkpoint::Reader(model), folder);
    fs::remove(folder / data::tokenizer_file_name);
    return;
  }
  for (const std::string& name : checkpoint::find_companions(model)) {
    if (name != data::tokenizer_file_name) checkpoint::copy_companion(model / name, folder / name);
  }
}

/// What AutoTokenizer needs to know beside tokenizer.json.
void write_config(const fs::path& file, const std::optional<std::string>& end_of_document) {
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                   {"clean_up_tokenization_spaces", false}};
  if (end_of_document) config["eos_token"] = *end_of_document;
  File target = File::create(file);
  target.write(config.dump(2) + "\n");
  target.sync();
  target.close();
}

}  // namespace

void check_same_tokens(const fs::path& model, const fs::path& dataset, Console& console) {
  const fs::path file = tokenizer_of(model);
  if (file.empty()) return;
  std::string why;
  try {
    why = data::why_other_tokens(file, dataset / data::tokenizer_file_name);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    console.warn("whether model and data have the same tokens is not known: {}", error.message());
  }
  if (why.empty()) return;
  throw Error(ErrorKind::input, fmt::format("the data have other tokens than the model: {}", why),
              fmt::format("make them with the model's: dt-shard-data --tokenizer {}", file.string()));
}

void keep_tokenizer(const run::RunDirectory& run, const fs::path& dataset, const fs::path& model) {
  const data::TokenizerInfo info = data::read_dataset_file(dataset).tokenizer;
  if (info.name != data::file_tokenizer_name || has_tokenizer(run.tokenizer_path(), info)) return;
  AtomicDirectory made(run.tokenizer_path());
  copy_what_lies_beside(model, made.path());
  const fs::path file = made.path() / data::tokenizer_file_name;
  checkpoint::copy_companion(dataset / data::tokenizer_file_name, file);
  const fs::path config = made.path() / "tokenizer_config.json";
  if (!path_exists(config)) {
    std::optional<std::string> end_of_document;
    if (info.eos) end_of_document = data::open_tokenizer(dataset, info)->decode(std::array{*info.eos});
    write_config(config, end_of_document);
  }
  made.commit(/*overwrite=*/true);
}

}  // namespace dt::train
