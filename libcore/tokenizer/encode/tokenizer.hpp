#pragma once
// A tokenizer from any file: the steps that text takes to become ids, in their order, and the places where
// text may be cut without changing its ids.

#include <cstddef>
#include <memory>
#include <string_view>

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

/// Returns where a long text may be cut, so that its parts can be encoded separately: the largest known n
/// such that encoding text[0, n) and text[n, …) separately gives the ids of encoding all of it, whatever
/// follows `text`. Returns 0 if none is known. Tokenizers that split by the known patterns (see scanners.hpp)
/// may be cut at the last space between ASCII letters.
std::size_t safe_cut(const Tokenizer& tokenizer, std::string_view text);

}  // namespace dt::tokenizer
