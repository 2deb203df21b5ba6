#include "data/build/tokenizer_config.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"

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

struct KnownTemplate {
  std::uint64_t digest;  // XXH3-64
  const char* name;
};

/// Known templates. Texts of one name differ only in the prompt for the next turn, or in how they
/// write line ends. They come from the tokenizer_config.json of models: ChatML's (Hermes, TRL),
/// Qwen 2's, Llama 3's, Gemma's.
constexpr KnownTemplate known_templates[] = {
    {0xa04f41d813a07b13, "chatml"}, {0xda206a9e46a4ac01, "chatml"}, {0x816f6e678caa3917, "chatml"},
    {0x4c6e807ee5fe9f4a, "chatml"}, {0x846f9032c2079ea2, "chatml"}, {0x4beaaa181278c216, "chatml"},
    {0xd5d943bd0bd9082f, "qwen2"},  {0xc79034a9d5f0ae58, "qwen2"},  {0xb97891b7adc1beb8, "llama3"},
    {0x9799ad6e2dea0594, "llama3"}, {0x80e4830e93c6d9f7, "llama3"}, {0x866fc8fa50da12fe, "llama3"},
    {0x2c2e86beabccd2a4, "gemma"},  {0x344edb205734f341, "gemma"}};

TurnFormat format_of(const std::string& name, const std::string& begin_of_text) {
  TurnFormat format;
  format.name = name;
  if (name == "chatml" || name == "qwen2") {
    format.before = "<|im_start|>{role}\n";
    format.after = "<|im_end|>\n";
    if (name == "qwen2") format.default_system = "You are a helpful assistant.";
    return format;
  }
  format.begin = begin_of_text;
  format.trims = true;
  if (name == "llama3") {
    format.before = "<|start_header_id|>{role}<|end_header_id|>\n\n";
    format.after = "<|eot_id|>";
    return format;
  }
  format.before = "<start_of_turn>{role}\n";
  format.after = "<end_of_turn>\n";
  format.role_names = {{"user", "user"}, {"assistant", "model"}};
  return format;
}

/// Returns a token's text. The token is a string, or an object with the string in it.
std::string token_text(const JsonValue& config, const char* name) {
  const auto found = config.find(name);
  if (found && found->is_object()) return found->string("content", "");
  return found && found->is_string() ? found->string() : "";
}

/// Returns the template's text. Of several templates, the one named "default" counts.
std::string template_text(const JsonValue& config) {
  const auto found = config.find("chat_template");
  if (found && found->is_string()) return found->string();
  if (!found || !found->is_array()) return {};
  for (const JsonValue& item : found->items()) {
    if (item.string("name", "") == "default") return item.string("template", "");
  }
  return {};
}

/// Returns a format's text as a user would write it on the command line.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

std::string read_tokenizer_config(const fs::path& file) {
  std::string text = read_file(file);
  JsonValue::parse_object(text, {file.string()});
  return text;
}

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
      warn(fmt::format("{}; the dataset is made without this file", error.message()));
    }
  }
  if (const fs::path jinja = folder / chat_template_name; file_exists(jinja))
    files[chat_template_name] = read_file(jinja);
  return files;
}

std::optional<ChatTemplate> find_chat_template(const fs::path& tokenizer) {
  const fs::path folder = tokenizer.parent_path();
  const fs::path config_file = folder / tokenizer_config_name, jinja = folder / chat_template_name;
  ChatTemplate found;
  if (file_exists(config_file)) {
    const auto config = JsonValue::parse_object(read_tokenizer_config(config_file), {config_file.string()});
    found = {template_text(config), config_file.string(), token_text(config, "bos_token")};
  }
  if (file_exists(jinja)) {
    found.text = read_file(jinja);
    found.origin = jinja.string();
  }
  if (found.text.empty()) return std::nullopt;
  return found;
}

std::optional<TurnFormat> known_turn_format(const ChatTemplate& chat_template) {
  const std::uint64_t its_digest = digest(chat_template.text);
  const auto* const known = std::find_if(std::begin(known_templates), std::end(known_templates),
                                         [&](const KnownTemplate& it) { return it.digest == its_digest; });
  if (known == std::end(known_templates)) return std::nullopt;
  return format_of(known->name, chat_template.begin_of_text);
}

TurnFormat turn_format_of_files(const fs::path& tokenizer) {
  const auto found = find_chat_template(tokenizer);
  if (!found)
    throw Error(ErrorKind::input,
                fmt::format("no chat_template was found in the folder of {}", tokenizer.string()),
                "describe the turns with --turn-format");
  if (auto format = known_turn_format(*found)) return *std::move(format);
  throw Error(
      ErrorKind::input,
      fmt::format("{}: the chat_template (digest {}) is unknown; dt knows chatml, qwen2, llama3 and gemma",
                  found->origin, to_hex(digest(found->text))),
      "describe its turns with --turn-format");
}

std::string turn_mismatch(const TurnFormat& format, const fs::path& tokenizer) {
  const auto beside = find_chat_template(tokenizer);
  const auto known = beside ? known_turn_format(*beside) : std::nullopt;
  if (!known) return {};
  std::vector<std::string> why;
  const auto compare = [&](const char* what, const std::string& ours, const std::string& theirs) {
    if (ours != theirs) why.push_back(fmt::format("it {} {}, not {}", what, quoted(ours), quoted(theirs)));
  };
  compare("begins conversations with", format.begin, known->begin);
  compare("begins turns with", format.before, known->before);
  compare("ends turns with", format.after, known->after);
  if (!known->default_system.empty())
    why.push_back(fmt::format("it adds no default system turn, where the template adds {}",
                              quoted(known->default_system)));
  for (const auto& [role, name] : known->role_names) {
    if (role != name)
      why.push_back(fmt::format("it writes the role {} unchanged, where the template writes {}", role, name));
  }
  if (known->trims) why.emplace_back("it keeps white space around the content, which the template trims");
  if (why.empty()) return {};
  return fmt::format("{} ({}): {}", beside->origin, known->name, fmt::join(why, "; "));
}

}  // namespace dt::data
