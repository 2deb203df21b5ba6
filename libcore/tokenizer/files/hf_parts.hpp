#pragma once
// Readers of the members of a tokenizer.json: the steps that text takes, and the model.

#include <memory>
#include <string>
#include <unordered_map>

#include "base/io/json.hpp"
#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

/// Returns the error of a step of an unknown kind. `known` lists the known kinds.
Error unknown_kind(const JsonValue& step, const std::string& known);

/// Returns the pattern of a Replace or Split step as a regular expression. Nothing in {"String": …} is
/// special.
std::string regex_of_pattern(const JsonValue& step);

std::unique_ptr<Normalizer> read_normalizer(const JsonValue& step);

struct HfPreTokenizer {
  std::unique_ptr<Normalizer> preparer;    // null: none
  std::unique_ptr<PreTokenizer> splitter;  // null: a text is one piece
  bool is_byte_level = false;
};
HfPreTokenizer read_pre_tokenizer(const JsonValue& step);

/// Reads the decoder. `is_byte_level`: the tokens' texts are bytes already.
Decoder read_decoder(const JsonValue& step, bool is_byte_level);

/// Ids by the tokens' texts as the file writes them. Merges and added tokens name tokens by these
/// texts.
using IdsByText = std::unordered_map<std::string, Id>;
IdsByText read_vocabulary(const JsonValue& model);

/// Reads the model's merges over its vocabulary `ids`.
Bpe read_bpe(const JsonValue& model, const IdsByText& ids, bool is_byte_level);

}  // namespace dt::tokenizer
