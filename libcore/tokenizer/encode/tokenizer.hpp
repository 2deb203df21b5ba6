#pragma once
// A tokenizer from any file: the steps that text takes to become ids, in their order.

#include <memory>

#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/decoder.hpp"
#include "tokenizer/encode/normalizer.hpp"
#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// A tokenizer. It does not change once it has been read.
/// Thread safety: any number of threads may use it, each through its own Encoder.
struct Tokenizer {
  AddedTokenFinder raw_added_tokens;       // found in the text as it is
  std::unique_ptr<Normalizer> normalizer;  // null: none
  AddedTokenFinder normalized_added_tokens;
  std::unique_ptr<Normalizer> preparer;         // changes text before the pre-tokenizer splits it; null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: a text is one piece
  Bpe bpe;
  Decoder decoder;
  Id end_of_text = no_id;  // token that ends a document; no_id: the file does not say
};

}  // namespace dt::tokenizer
