#pragma once
// Merges for vocabularies that only say which token goes first: whatever two make a token may merge.

#include <span>
#include <vector>

#include "tokenizer/bpe.hpp"

namespace dt::tokenizer {

/// Adds the merges that `tokens` come from; `ranks` are by id. A token's bytes only ever come to be from one
/// pair: as long as nothing merges across their borders, merges within them come in the same order whatever
/// stands around, so the pair is what they are before the last merge. Shorter tokens decide it, so these go
/// first. Bytes that never come down to two are met as no token, but as a whole piece.
void learn_merges(std::vector<Id> tokens, std::span<const Rank> ranks, Bpe& bpe);

}  // namespace dt::tokenizer
