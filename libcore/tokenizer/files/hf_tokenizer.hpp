#pragma once
// Reads and writes Hugging Face's tokenizer.json, for byte-pair encodings.

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

/// Reads a tokenizer.json. Ids are those of encode() in Hugging Face's tokenizers without special
/// tokens added: the post-processor, truncation and padding have no effect.
/// Errors: input, naming `origin` and the path in it: unknown kinds of steps and models, options that
/// dt does not follow, merges of tokens that do not exist.
Tokenizer read_hugging_face(std::string_view text, const std::string& origin);

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
