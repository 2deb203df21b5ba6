#pragma once
// Turns SentencePiece's tokenizer.model into a tokenizer.json.

#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Returns a tokenizer.json. Its ids of texts and texts of ids are those of sentencepiece's encode and
/// decode. Members "dt_…" hold what the format cannot express. Hugging Face's tokenizers ignore them;
/// FORMATS.md says where their results then differ.
/// Errors: input, naming `origin`: those of read_sentencepiece_model(); pieces that text can become
/// in ways that dt does not follow (unused pieces, and those with a character that is no piece);
/// user-defined pieces that contain a space; a charsmap with rules for spaces.
std::string sentencepiece_as_hugging_face(std::string_view bytes, const std::string& origin);

}  // namespace dt::tokenizer
