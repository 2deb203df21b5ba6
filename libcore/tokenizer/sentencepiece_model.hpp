#pragma once
// What a SentencePiece tokenizer.model says: ModelProto of sentencepiece_model.proto.

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

/// A piece's id is its place. Defaults are the format's.
struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  bool byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // what the unknown piece decodes to
  std::string charsmap;                      // see charsmap.hpp; empty: none
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

/// Whether the bytes look like such a file.
bool is_sentencepiece_model(std::string_view bytes);

/// Errors: input, naming `origin`: broken bytes, models that are no byte-pair encoding, options that are not
/// followed, pieces that are empty, no UTF-8 or there twice, none or two that are unknown, bytes that are
/// missing.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& origin);

}  // namespace dt::tokenizer
