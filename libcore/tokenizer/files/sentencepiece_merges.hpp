#pragma once
// SentencePiece gives each piece a score, and merges any two pieces that make one, the highest score
// first. bpe_of_pieces() finds these pairs.

#include <string>

#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/files/sentencepiece_model.hpp"

namespace dt::tokenizer {

/// Returns the vocabulary, the merges and the unknown piece. Pieces of equal score have merges of equal
/// rank.
/// Errors: input, naming `origin` and the piece, if text can become a piece that is unused or has a
/// character that is no piece.
Bpe bpe_of_pieces(const SentencePieceModel& model, const std::string& origin);

}  // namespace dt::tokenizer
