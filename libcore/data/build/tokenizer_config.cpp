#include "data/build/tokenizer_config.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "data/build/chat_template.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array token_keys = {"bos_token", "eos_token", "unk_token", "sep_token",
                                   "pad_token", "cls_token", "mask_token"};

/// Returns whether the tokenizer has a token. The token is a text, or an object with the text in
/// it.
bool has_token(const Tokenizer& tokenizer, TextEncoder& encoder, const Json& token) {
  const Json content = token.is_object() ? token.value("content", Json()) : token;
  if (!content.is_string()) return false;
  const auto text = content.get<std::string>();
  std::vector<std::uint32_t> ids;
  encoder.encode(text, ids);
  return ids.size() == 1 && tokenizer.decode(ids) == text;
}

std::string kept_config(const Json& config, const Tokenizer& tokenizer) {
  Json kept = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  if (const auto it = config.find("clean_up_tokenization_spaces"); it != config.end() && it->is_boolean())
    kept["clean_up_tokenization_spaces"] = *it;
  const auto encoder = tokenizer.encoder();
  for (const char* key : token_keys) {
    if (const auto it = config.find(key); it != config.end() && has_token(tokenizer, *encoder, *it))
      kept[key] = *it;
  }
  if (const auto eos = tokenizer.info().eos) kept["eos_token"] = tokenizer.decode(std::array{*eos});
  const auto chat_template = config.find("chat_template");
  if (chat_template != config.end() && (chat_template->is_string() || chat_template->is_array()))
    kept["chat_template"] = *chat_template;
  return kept.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> tokenizer_config_files(
    const fs::path& path, const Tokenizer& tokenizer, const std::function<void(const std::string&)>& warn) {
  std::map<std::string, std::string> files;
  const fs::path folder = path.parent_path();
  if (const fs::path config = folder / tokenizer_config_name; file_exists(config)) {
    try {
      files[tokenizer_config_name] =
          kept_config(parse_json_object(read_tokenizer_config(config), {config.string()}), tokenizer);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      warn(fmt::format("{}; the dataset keeps nothing of the file", error.message()));
    }
  }
  if (const fs::path jinja = folder / chat_template_name; file_exists(jinja))
    files[chat_template_name] = read_file(jinja);
  return files;
}

}  // namespace dt::data
