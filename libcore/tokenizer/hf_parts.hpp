#pragma once
// The parts of a tokenizer.json, each read from its member.

#include <memory>

#include "tokenizer/json_value.hpp"
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

/// The model's vocabulary and merges.
Bpe read_bpe(const JsonValue& model, bool is_byte_level);

/// The pattern of a Replace or Split step as a regular expression, {"String": …} with nothing special in it.
std::string regex_of_pattern(const JsonValue& step);

}  // namespace dt::tokenizer
