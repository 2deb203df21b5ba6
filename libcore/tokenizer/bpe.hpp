#pragma once
// A byte-pair encoding as learned: its tokens, its merges, and the tokens that a piece of text starts as.

#include <array>
#include <string_view>
#include <vector>

#include "tokenizer/merge_table.hpp"
#include "tokenizer/vocabulary.hpp"

namespace dt::tokenizer {

struct Bpe {
  Vocabulary vocabulary;
  MergeTable merges;
  /// Symbols are bytes; else characters, and bytes where a character is no token.
  bool is_byte_level = true;
  /// The token that each byte is, no_id where none: what pieces start as, or, for characters, fall back to.
  std::array<Id, 256> byte_ids = filled_with(no_id);
  /// What a character becomes that is neither a token nor has tokens for its bytes; no_id: nothing.
  Id unknown = no_id;
  /// Several unknown characters in a row are one token.
  bool fuses_unknown = false;
  /// A piece that is a token is that token, whatever merges make of it.
  bool takes_whole_pieces = false;

 private:
  static constexpr std::array<Id, 256> filled_with(Id id) {
    std::array<Id, 256> ids{};
    ids.fill(id);
    return ids;
  }
};

/// Appends the tokens that `piece` is before any merge.
void append_symbols(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols);

}  // namespace dt::tokenizer
