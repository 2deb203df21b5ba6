#pragma once
// Splits text for tokenizers without a pre-tokenizer, so that their texts need not be merged as a
// whole.

#include <memory>

#include "tokenizer/bpe.hpp"
#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Splits before each run of U+2581, SentencePiece's space. The ids stay the same, since no merge of
/// `bpe` joins such a run with text before it. Returns null where a merge does, where `bpe` takes whole
/// pieces, and where U+2581 is no token.
std::unique_ptr<PreTokenizer> make_word_splitter(const Bpe& bpe);

}  // namespace dt::tokenizer
