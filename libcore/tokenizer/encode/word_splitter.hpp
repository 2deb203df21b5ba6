#pragma once
// Splits text for tokenizers without a pre-tokenizer, so that their texts need not be merged as a
// whole.

#include <memory>

#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Returns a pre-tokenizer that splits before each run of U+2581, SentencePiece's space. The ids stay
/// the same, since no merge of `bpe` joins such a run with text before it. Returns null if a merge
/// does, if `bpe` takes whole pieces, or if U+2581 is no token.
std::unique_ptr<PreTokenizer> make_word_splitter(const Bpe& bpe);

}  // namespace dt::tokenizer
