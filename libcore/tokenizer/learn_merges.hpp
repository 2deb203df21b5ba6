#pragma once
// Learns merges for vocabularies that only say which token goes first: any two tokens that make a token
// may merge.

#include <span>
#include <vector>

#include "tokenizer/bpe.hpp"

namespace dt::tokenizer {

/// Adds the merges that `tokens` come from. `ranks` are by id.
/// A token's bytes only ever come from one pair. As long as nothing merges across their borders, merges
/// within them come in the same order, whatever stands around. So the pair is what the bytes are before
/// the last merge. Shorter tokens decide the pair, so they go first.
/// Bytes that never come down to two tokens get no merge. Their token is only ever met as a whole
/// piece.
void learn_merges(std::vector<Id> tokens, std::span<const Rank> ranks, Bpe& bpe);

}  // namespace dt::tokenizer
