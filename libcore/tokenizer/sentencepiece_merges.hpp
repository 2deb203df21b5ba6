#pragma once
// SentencePiece says how much each piece is worth, and merges whatever two make one, the most worth first.
// Here it is which pairs those are.

#include <string>

#include "tokenizer/bpe.hpp"
#include "tokenizer/sentencepiece_model.hpp"

namespace dt::tokenizer {

/// Vocabulary, merges and unknown piece. Pieces of the same score have merges of the same rank. Errors:
/// input, naming `origin` and the piece: one that text can come to which is unused, or made of a character
/// that is no piece.
Bpe bpe_of_pieces(const SentencePieceModel& model, const std::string& origin);

}  // namespace dt::tokenizer
