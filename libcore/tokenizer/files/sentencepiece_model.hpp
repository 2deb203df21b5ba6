#pragma once
// The content of a SentencePiece tokenizer.model: ModelProto of sentencepiece_model.proto.

#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

enum class PieceType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SentencePiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

/// A piece's id is its index. Defaults are the format's.
struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  bool byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // text that the unknown piece decodes to
  std::string charsmap;                      // see charsmap.hpp; empty: none
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

/// Returns whether `bytes` look like a tokenizer.model.
bool is_sentencepiece_model(std::string_view bytes);

/// Reads a tokenizer.model.
/// Errors: input, naming `origin`: broken bytes; a model other than a byte-pair encoding; options that
/// dt does not follow; pieces that are empty, not UTF-8 or there twice; no unknown piece, or two;
/// missing byte pieces.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& origin);

}  // namespace dt::tokenizer
