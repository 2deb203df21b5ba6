#pragma once
// Learns merges for vocabularies that only rank their tokens: any two tokens that make a token may
// merge.

#include <span>
#include <vector>

#include "tokenizer/encode/bpe.hpp"

namespace dt::tokenizer {

/// Adds the merges that make `tokens`. `ranks` are by id.
/// Only one pair ever makes a token. Until a merge crosses the borders of the token's bytes, merges
/// within them come in the same order, whatever surrounds them. The pair is therefore the two tokens
/// before the last merge within the bytes. Shorter tokens decide the pair, so they are learned first.
/// Bytes that never merge down to two tokens get no merge. Their token only occurs as a whole piece.
void learn_merges(std::vector<Id> tokens, std::span<const Rank> ranks, Bpe& bpe);

}  // namespace dt::tokenizer
