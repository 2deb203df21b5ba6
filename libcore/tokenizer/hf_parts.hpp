#pragma once
// The parts of a tokenizer.json, each read from its member.

#include <memory>
#include <string>
#include <unordered_map>

#include "base/json.hpp"
#include "tokenizer/tokenizer.hpp"

namespace dt::tokenizer {

/// What a member names of a kind that is not known.
Error unknown_kind(const JsonValue& step, const std::string& known);

std::unique_ptr<Normalizer> read_normalizer(const JsonValue& step);

struct HfPreTokenizer {
  std::unique_ptr<Normalizer> preparer;    // null: none
  std::unique_ptr<PreTokenizer> splitter;  // null: all is one piece
  bool is_byte_level = false;
};
HfPreTokenizer read_pre_tokenizer(const JsonValue& step);

/// `is_byte_level`: texts of tokens are bytes already.
Decoder read_decoder(const JsonValue& step, bool is_byte_level);

/// Ids by the tokens' texts as the file has them, which is how it names them in merges and added tokens.
using IdsByText = std::unordered_map<std::string, Id>;
IdsByText read_vocabulary(const JsonValue& model);

/// The model's merges, over its vocabulary `ids`.
Bpe read_bpe(const JsonValue& model, const IdsByText& ids, bool is_byte_level);

/// The pattern of a Replace or Split step as a regular expression, {"String": …} with nothing special in it.
std::string regex_of_pattern(const JsonValue& step);

}  // namespace dt::tokenizer
