#pragma once
// The chat templates that models have beside their tokenizers, of which some forms are followed.

#include <optional>
#include <string>

#include "base/files.hpp"
#include "data/conversation.hpp"

namespace dt::data {

struct ChatTemplate {
  std::string text;           // Jinja
  std::string origin;         // the file
  std::string begin_of_text;  // what the template calls bos_token
};

/// The text of a tokenizer_config.json, which is a JSON object. Errors: input, naming the file, where it is
/// none.
std::string read_tokenizer_config(const fs::path& file);

/// Of the folder that a tokenizer's file lies in: its chat_template.jinja, or the chat_template of its
/// tokenizer_config.json. Nothing where there is none. Errors: input, where the files cannot be understood.
std::optional<ChatTemplate> find_chat_template(const fs::path& tokenizer);

/// How a template of a known form writes turns, told by its text's digest; nothing where it is another.
std::optional<TurnFormat> known_turn_format(const ChatTemplate& chat_template);

/// The same beside a tokenizer's file. Errors: input, where there is no template, or none of a known form.
TurnFormat turn_format_beside(const fs::path& tokenizer);

/// How turns of a user's own format differ from those of the template beside the tokenizer's file, where that
/// is of a known form: "it ends turns with '</s>', not '<|im_end|>\n'". "" where they do not, or nothing is
/// known.
std::string why_other_turns(const TurnFormat& format, const fs::path& tokenizer);

}  // namespace dt::data
