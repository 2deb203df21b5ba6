#pragma once
// Pieces for tokenizers that have no pre-tokenizer, so that their texts need not be merged as a whole.

#include <memory>

#include "tokenizer/bpe.hpp"
#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Splits before each run of U+2581, SentencePiece's space, where no merge of `bpe` ever joins what stands
/// before such a run with it: the ids are the same then. Null where there is such a merge, or where whole
/// pieces are taken.
std::unique_ptr<PreTokenizer> make_word_splitter(const Bpe& bpe);

}  // namespace dt::tokenizer
