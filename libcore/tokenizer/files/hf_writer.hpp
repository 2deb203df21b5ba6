#pragma once
// Writes an encoding as Hugging Face's tokenizer.json.

#include <string>
#include <vector>

#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/encode/bpe.hpp"

namespace dt::tokenizer {

/// Returns the tokenizer.json of a byte-level encoding, as read_hugging_face() and Hugging Face's
/// tokenizers read it.
/// `regex` says how text is split. Hugging Face's tokenizers drop text that it does not match; dt refuses
/// such text. `special_tokens` are in the vocabulary, or have the ids that follow it, in order and without
/// a gap. Readers give them these ids, whatever the file says.
std::string hugging_face_text(const Bpe& bpe, const std::string& regex,
                              const std::vector<AddedToken>& special_tokens);

/// Members of the file, as JSON; empty: none.
struct HfSteps {
  std::string normalizer, pre_tokenizer, decoder;
};

/// Returns the tokenizer.json of any encoding. Members "dt_…" hold what Hugging Face's format cannot
/// express.
std::string hugging_face_text(const Bpe& bpe, const HfSteps& steps,
                              const std::vector<AddedToken>& special_tokens);

}  // namespace dt::tokenizer
