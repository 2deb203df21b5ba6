#pragma once
// A byte-pair encoding as learned: its tokens, its merges, and the tokens that a piece of text starts as.

#include <array>
#include <string_view>
#include <vector>

#include "tokenizer/encode/merge_table.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::tokenizer {

struct Bpe {
  Vocabulary vocabulary;
  MergeTable merges;
  /// True: symbols are bytes. False: symbols are characters, or bytes where a character is not a token.
  bool is_byte_level = true;
  /// Token of each byte, or no_id if the byte has none. Pieces start as these tokens; pieces of
  /// characters fall back to them.
  std::array<Id, 256> byte_ids = filled_with(no_id);
  /// Token of a symbol that has none: a character that is not a token and lacks a token for one of its
  /// bytes. no_id drops such symbols.
  Id unknown = no_id;
  /// Makes several unknown characters in a row one token.
  bool fuses_unknown = false;
  /// A piece that is a token becomes that token, whatever merges would make of it.
  bool takes_whole_pieces = false;

 private:
  static constexpr std::array<Id, 256> filled_with(Id id) {
    std::array<Id, 256> ids{};
    ids.fill(id);
    return ids;
  }
};

/// Appends the tokens of `piece` before any merge.
void append_symbols(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols);

}  // namespace dt::tokenizer
