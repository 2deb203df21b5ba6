#pragma once
// A tokenizer, whichever file it was read from: the steps that text takes to become ids, in their order.

#include <memory>

#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/decoder.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Whole once read, then used by any number of threads, each through an Encoder of its own.
struct Tokenizer {
  AddedTokenFinder raw_added_tokens;       // found in the text as it is
  std::unique_ptr<Normalizer> normalizer;  // null: none
  AddedTokenFinder normalized_added_tokens;
  std::unique_ptr<Normalizer> preparer;  // what a pre-tokenizer changes before it splits; null: nothing
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: all is one piece
  Bpe bpe;
  Decoder decoder;
  Id end_of_text = no_id;  // what ends a document; no_id: the file does not say
};

}  // namespace dt::tokenizer
