#pragma once
// Files beside a tokenizer's file: the chat template, and the configuration that names the special tokens it
// uses.

#include <array>
#include <functional>
#include <map>
#include <string>

#include "base/files.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

inline constexpr const char* tokenizer_config_name = "tokenizer_config.json";
inline constexpr const char* chat_template_name = "chat_template.jinja";

/// All that files_beside() gives.
inline constexpr std::array names_beside = {tokenizer_config_name, chat_template_name};

/// Returns what a dataset keeps of the files beside the tokenizer's file `path`, by name; nothing where there
/// are none. chat_template.jinja stays as it is. Of tokenizer_config.json the chat_template and the special
/// tokens that `tokenizer` has stay; its eos_token is the token that ends documents. Names of classes and of
/// code do not stay: tokenizer.json alone says how text becomes ids. Of a tokenizer_config.json that cannot
/// be read as JSON (Python writes NaN into some), nothing stays, and `warn` is told.
std::map<std::string, std::string> files_beside(const fs::path& path, const Tokenizer& tokenizer,
                                                const std::function<void(const std::string&)>& warn);

}  // namespace dt::data
