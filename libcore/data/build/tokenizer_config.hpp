#pragma once
// Files beside a tokenizer's file: the chat template, and the configuration that names its special
// tokens.

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/io/files.hpp"
#include "data/input/conversation.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

inline constexpr const char* tokenizer_config_name = "tokenizer_config.json";
inline constexpr const char* chat_template_name = "chat_template.jinja";

/// Names of all files that tokenizer_config_files() may return.
inline constexpr std::array tokenizer_config_names = {tokenizer_config_name, chat_template_name};

/// Returns the text of a tokenizer_config.json, which must be a JSON object.
/// Errors: input, naming the file, if it is not.
std::string read_tokenizer_config(const fs::path& file);

/// Returns the files beside the tokenizer's file `path` that a dataset keeps, by name. Keeps
/// chat_template.jinja unchanged. Of tokenizer_config.json, keeps the chat_template and the special
/// tokens that `tokenizer` has; eos_token becomes the token that ends documents. Drops names of
/// classes and code, since tokenizer.json alone determines how text becomes ids. Drops a
/// tokenizer_config.json that is not valid JSON (Python writes NaN into some), and calls `warn`.
std::map<std::string, std::string> tokenizer_config_files(
    const fs::path& path, const Tokenizer& tokenizer, const std::function<void(const std::string&)>& warn);

/// A chat template beside a model's tokenizer. dt follows some known forms.
struct ChatTemplate {
  std::string text;           // Jinja
  std::string origin;         // path of the file
  std::string begin_of_text;  // value of bos_token in the template
};

/// Returns the chat template in the folder of a tokenizer's file: chat_template.jinja, or the
/// chat_template of tokenizer_config.json. Returns none if there is none.
/// Errors: input if the files cannot be parsed.
std::optional<ChatTemplate> find_chat_template(const fs::path& tokenizer);

/// Returns the turn format of a template of a known form, identified by the digest of its text.
/// Returns none for other templates.
std::optional<TurnFormat> known_turn_format(const ChatTemplate& chat_template);

/// Returns the turn format of the template beside a tokenizer's file.
/// Errors: input if there is no template, or its form is unknown.
TurnFormat turn_format_of_files(const fs::path& tokenizer);

/// Returns how turns of a user's own format differ from those of the template beside the
/// tokenizer's file: "it ends turns with '</s>', not '<|im_end|>\n'". Returns "" if they do not
/// differ or the template's form is unknown.
std::string turn_mismatch(const TurnFormat& format, const fs::path& tokenizer);

}  // namespace dt::data
