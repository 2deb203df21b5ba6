#include "train/start/run_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/json.hpp"
#include "base/io/permissions.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "data/build/tokenizer_config.hpp"
#include "data/read/dataset_file.hpp"
#include "data/tokenizer.hpp"
#include "model/model_spec.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the file with a model's tokens in its folder; "" if there is none.
fs::path tokenizer_of(const fs::path& model) {
  for (const char* name : {data::tokenizer_file_name, "tokenizer.model"}) {
    if (!model.empty() && file_exists(model / name)) return model / name;
  }
  return {};
}

bool has_tokenizer(const fs::path& folder, const data::TokenizerIdentity& info) {
  const fs::path file = folder / data::tokenizer_file_name;
  return file_exists(file) && digest(read_file(file)) == info.digest;
}

/// Copies all files but the one with the tokens, which is the data's.
void copy_model_tokenizer_files(const fs::path& model, const fs::path& folder) {
  if (model.empty()) return;
  if (path_exists(model / checkpoint::manifest_name)) {
    checkpoint::copy_tokenizer_files(checkpoint::Reader(model), folder);
    fs::remove(folder / data::tokenizer_file_name);
    return;
  }
  for (const std::string& name : checkpoint::find_tokenizer_files(model)) {
    if (name != data::tokenizer_file_name) checkpoint::copy_tokenizer_file(model / name, folder / name);
  }
}

Json read_json(const fs::path& file) {
  return parse_json_object(read_file(file), {file.string()});
}

void write_text(const fs::path& file, const std::string& text) {
  File target = File::create(file);
  target.write(text);
  target.sync();
  target.close();
}

void write_json(const fs::path& file, const Json& json) {
  write_text(file, json.dump(2) + "\n");
}

bool has_chat_template(const fs::path& folder) {
  return data::find_chat_template(folder / data::tokenizer_file_name).has_value();
}

/// Writes the files that the model lacks: the configuration of the data's tokenizer, and its chat
/// template.
void add_dataset_tokenizer_files(const fs::path& dataset, const fs::path& folder) {
  const auto kept = data::find_chat_template(dataset / data::tokenizer_file_name);
  if (kept && !has_chat_template(folder)) write_text(folder / data::chat_template_name, kept->text);
  const fs::path config = folder / data::tokenizer_config_name;
  if (file_exists(dataset / data::tokenizer_config_name) && !path_exists(config))
    checkpoint::copy_tokenizer_file(dataset / data::tokenizer_config_name, config);
}

/// Writes the settings that AutoTokenizer needs in addition to tokenizer.json.
void write_config(const fs::path& file, const std::optional<std::string>& end_of_document) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  if (end_of_document) config["eos_token"] = *end_of_document;
  write_json(file, config);
}

/// The texts of end-of-text tokens, of the data and of the model.
struct EosTokens {
  std::optional<std::string> of_data;  // text of the token that ends the data's documents, if one does
  std::set<std::string> all;           // texts of the ends that the tokenizer has
};

EosTokens read_eos_tokens(const fs::path& dataset, const data::TokenizerIdentity& info,
                          const std::vector<std::int64_t>& ends) {
  const auto tokenizer = data::open_tokenizer(dataset, info);
  const auto text_of = [&](std::uint32_t id) { return tokenizer->decode(std::array{id}); };
  EosTokens result;
  if (info.eos) result.all.insert(result.of_data.emplace(text_of(*info.eos)));
  for (const std::int64_t id : ends) {
    if (id >= 0 && id < info.vocabulary_size) result.all.insert(text_of(static_cast<std::uint32_t>(id)));
  }
  return result;
}

/// Returns the eos_token of a file of transformers, which is a text or an object with one; nothing
/// if it has none.
std::optional<std::string> eos_text(const Json& json) {
  const auto found = json.find("eos_token");
  if (found == json.end()) return std::nullopt;
  const Json& text = found->is_object() && found->contains("content") ? found->at("content") : *found;
  return text.is_string() ? std::optional(text.get<std::string>()) : std::nullopt;
}

/// The files of a tokenizer's folder that name its eos_token.
constexpr std::array eos_config_files = {data::tokenizer_config_name, "special_tokens_map.json"};

bool has_matching_eos(const fs::path& folder, const EosTokens& ends) {
  if (!ends.of_data) return true;
  return std::ranges::all_of(eos_config_files, [&](const char* name) {
    const fs::path file = folder / name;
    if (!path_exists(file)) return true;
    const auto text = eos_text(read_json(file));
    return text && ends.all.contains(*text);
  });
}

/// Makes the model's files name an end-of-text token at which the model stops.
void fix_eos_token(const fs::path& folder, const EosTokens& ends, Console& console) {
  if (!ends.of_data) return;
  for (const char* name : eos_config_files) {
    const fs::path file = folder / name;
    if (!path_exists(file)) continue;
    Json json = read_json(file);
    const auto text = eos_text(json);
    if (text && ends.all.contains(*text)) continue;
    if (text)
      console.warn("the eos_token in the model's {} changes from {} to {}, which ends the data's documents",
                   name, *text, *ends.of_data);
    json["eos_token"] = *ends.of_data;
    write_json(file, json);
  }
}

}  // namespace

void check_same_tokens(const fs::path& model, const fs::path& dataset, Console& console) {
  const fs::path file = tokenizer_of(model);
  if (file.empty()) return;
  std::string why;
  try {
    why = data::token_mismatch(file, dataset / data::tokenizer_file_name);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    console.warn("cannot check whether model and data have the same tokens: {}", error.message());
  }
  if (why.empty()) return;
  throw Error(ErrorKind::input, fmt::format("data and model have different tokens: {}", why),
              fmt::format("make the dataset with the model's tokenizer: dt-shard-data --tokenizer {}",
                          file.string()));
}

void store_tokenizer(const run::RunDirectory& run, const fs::path& dataset, const fs::path& model,
                     const std::vector<std::int64_t>& model_ends, Console& console) {
  const data::TokenizerIdentity info = data::read_dataset_file(dataset).tokenizer;
  if (info.name != data::file_tokenizer_name) return;
  const EosTokens ends = read_eos_tokens(dataset, info, model_ends);
  const bool lacks_template = has_chat_template(dataset) && !has_chat_template(run.tokenizer_path());
  if (has_tokenizer(run.tokenizer_path(), info) && has_matching_eos(run.tokenizer_path(), ends) &&
      !lacks_template)
    return;
  AtomicDirectory made(run.tokenizer_path());
  restrict_readers(made.path(), ReadAccess::of_file(dataset / data::tokenizer_file_name));
  copy_model_tokenizer_files(model, made.path());
  const fs::path file = made.path() / data::tokenizer_file_name;
  checkpoint::copy_tokenizer_file(dataset / data::tokenizer_file_name, file);
  add_dataset_tokenizer_files(dataset, made.path());
  fix_eos_token(made.path(), ends, console);
  const fs::path config = made.path() / data::tokenizer_config_name;
  if (!path_exists(config)) write_config(config, ends.of_data);
  made.commit(/*overwrite=*/true);
}

}  // namespace dt::train
