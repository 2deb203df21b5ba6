#include "tokenizer/files/sentencepiece_merges.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/files/learn_merges.hpp"

namespace dt::tokenizer {

namespace {

/// Returns the pieces' ranks. The highest score has rank 0; equal scores have equal ranks.
std::vector<Rank> ranks_of(const SentencePieceModel& model) {
  std::vector<float> scores;
  for (const SentencePiece& piece : model.pieces) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<Rank> ranks;
  for (const SentencePiece& piece : model.pieces) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>());
    ranks.push_back(static_cast<Rank>(at - scores.begin()));
  }
  return ranks;
}

AddedTokenFinder user_defined(const SentencePieceModel& model) {
  std::vector<AddedToken> tokens;
  for (const SentencePiece& piece : model.pieces) {
    if (piece.type == PieceType::user_defined) tokens.push_back({0, piece.text});
  }
  return AddedTokenFinder(std::move(tokens));
}

/// Returns the pieces that merging may lead to. Nothing merges with a user-defined piece, nor within
/// it.
std::vector<Id> pieces_of_merges(const SentencePieceModel& model) {
  const AddedTokenFinder apart = user_defined(model);
  std::vector<Id> ids;
  for (Id id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    const bool merges = piece.type == PieceType::normal || piece.type == PieceType::unused;
    if (merges && !apart.find(piece.text, {})) ids.push_back(id);
  }
  return ids;
}

/// Gives each character of a piece that is no piece itself an id after all others. In sentencepiece,
/// such a character is a symbol like any other.
void add_missing_characters(const SentencePieceModel& model, const std::vector<Id>& pieces, Bpe& bpe) {
  for (const Id id : pieces) {
    std::string_view rest = model.pieces[id].text;
    while (!rest.empty()) {
      const std::string_view character = rest.substr(0, character_length(rest));
      if (bpe.vocabulary.find(character) == no_id) bpe.vocabulary.set(bpe.vocabulary.size(), character);
      rest.remove_prefix(character.size());
    }
  }
}

void set_pieces(const SentencePieceModel& model, Bpe& bpe) {
  for (Id id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    bpe.vocabulary.set(id, piece.text);
    if (piece.type == PieceType::unknown) bpe.unknown = id;
  }
  for (std::size_t byte = 0; model.byte_fallback && byte < 256; ++byte)
    bpe.byte_ids[byte] = bpe.vocabulary.find(fmt::format("<0x{:02X}>", byte));
  bpe.is_byte_level = false;
  bpe.fuses_unknown = true;
}

void refuse_merges(const SentencePieceModel& model, const MergeTable& merges, const std::string& origin) {
  for (const auto& [left, right] : merges.pairs()) {
    const SentencePiece& piece = model.pieces[merges.find(left, right).merged];
    if (std::max(left, right) >= model.pieces.size())
      throw input_error("{}: '{}' is made of a character that is no piece", origin, piece.text);
    if (piece.type == PieceType::unused)
      throw input_error("{}: '{}' is unused, which is not followed for pieces that text comes to", origin,
                        piece.text);
  }
}

}  // namespace

Bpe bpe_of_pieces(const SentencePieceModel& model, const std::string& origin) {
  Bpe learned;
  set_pieces(model, learned);
  const std::vector<Id> pieces = pieces_of_merges(model);
  add_missing_characters(model, pieces, learned);
  learn_merges(pieces, ranks_of(model), learned);
  refuse_merges(model, learned.merges, origin);
  Bpe bpe;
  set_pieces(model, bpe);
  bpe.merges = std::move(learned.merges);
  return bpe;
}

}  // namespace dt::tokenizer
