#pragma once
// Hugging Face's tokenizer.json of an encoding.

#include <string>
#include <vector>

#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"

namespace dt::tokenizer {

/// Of a byte-level encoding, what read_hugging_face and Hugging Face's tokenizers read. `regex` says how text
/// is split, what it does not match is dropped. `special_tokens` are of the vocabulary, or have the ids that
/// follow it, in order and without a gap: readers give them these, whatever the file says.
std::string hugging_face_text(const Bpe& bpe, const std::string& regex,
                              const std::vector<AddedToken>& special_tokens);

/// Members of the file, as JSON; empty: none.
struct HfSteps {
  std::string normalizer, pre_tokenizer, decoder;
};

/// The same for any encoding. What Hugging Face's format has no word for are members "dt_…".
std::string hugging_face_text(const Bpe& bpe, const HfSteps& steps,
                              const std::vector<AddedToken>& special_tokens);

}  // namespace dt::tokenizer
