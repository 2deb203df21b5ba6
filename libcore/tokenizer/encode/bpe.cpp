#include "tokenizer/encode/bpe.hpp"

#include <algorithm>

#include "base/text/utf8.hpp"

namespace dt::tokenizer {

namespace {

bool append_bytes(const Bpe& bpe, std::string_view bytes, std::vector<Id>& symbols) {
  const auto id_of = [&](char byte) { return bpe.byte_ids[static_cast<unsigned char>(byte)]; };
  const bool all_known =
      std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return id_of(byte) != no_id; });
  if (!all_known) return false;
  for (const char byte : bytes) symbols.push_back(id_of(byte));
  return true;
}

void append_characters(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols) {
  bool after_unknown = false;
  for (std::size_t begin = 0, end = 0; begin < piece.size(); begin = end) {
    end = begin + character_length(piece.substr(begin));
    const std::string_view character = piece.substr(begin, end - begin);
    const Id id = bpe.vocabulary.find(character);
    const bool is_known = id != no_id || append_bytes(bpe, character, symbols);
    if (id != no_id) symbols.push_back(id);
    if (!is_known && bpe.unknown != no_id && !(after_unknown && bpe.fuses_unknown))
      symbols.push_back(bpe.unknown);
    after_unknown = !is_known;
  }
}

}  // namespace

void append_symbols(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols) {
  if (!bpe.is_byte_level) return append_characters(bpe, piece, symbols);
  for (const char byte : piece) {
    const Id id = bpe.byte_ids[static_cast<unsigned char>(byte)];
    if (id != no_id) {
      symbols.push_back(id);
    } else if (bpe.unknown != no_id) {
      symbols.push_back(bpe.unknown);
    }
  }
}

}  // namespace dt::tokenizer
