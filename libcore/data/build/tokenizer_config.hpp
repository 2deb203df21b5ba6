#pragma once
// Files beside a tokenizer's file: the chat template, and the configuration that names its special
// tokens.

#include <array>
#include <functional>
#include <map>
#include <string>

#include "base/io/files.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

inline constexpr const char* tokenizer_config_name = "tokenizer_config.json";
inline constexpr const char* chat_template_name = "chat_template.jinja";

/// Names of all files that tokenizer_config_files() may return.
inline constexpr std::array tokenizer_config_names = {tokenizer_config_name, chat_template_name};

/// Returns the files beside the tokenizer's file `path` that a dataset keeps, by name. Keeps
/// chat_template.jinja unchanged. Of tokenizer_config.json, keeps the chat_template and the special
/// tokens that `tokenizer` has; eos_token becomes the token that ends documents. Drops names of
/// classes and code, since tokenizer.json alone determines how text becomes ids. Drops a
/// tokenizer_config.json that is not valid JSON (Python writes NaN into some), and calls `warn`.
std::map<std::string, std::string> tokenizer_config_files(
    const fs::path& path, const Tokenizer& tokenizer, const std::function<void(const std::string&)>& warn);

}  // namespace dt::data
