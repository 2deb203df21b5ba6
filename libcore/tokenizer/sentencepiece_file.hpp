#pragma once
// SentencePiece's tokenizer.model as a tokenizer.json.

#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Ids of texts and the texts of these are those of sentencepiece's encode and decode. A member "dt_…" says
/// what the format has no word for; Hugging Face's tokenizers pass over it (see FORMATS.md for where theirs
/// then differ). Errors: input, naming `origin`: as read_sentencepiece_model; pieces that text can come to
/// but by ways that are not followed: unused ones, and those with a character that is no piece; user-defined
/// ones that hold a space; a charsmap with rules for spaces.
std::string sentencepiece_as_hugging_face(std::string_view bytes, const std::string& origin);

}  // namespace dt::tokenizer
