#pragma once
// A tokenizer from whichever file it lies in.

#include <memory>
#include <string>

#include "base/files.hpp"
#include "tokenizer/tokenizer.hpp"

namespace dt::tokenizer {

/// A tokenizer and the tokenizer.json that says all of it.
struct TokenizerFile {
  std::string text;
  std::unique_ptr<const Tokenizer> tokenizer;
};

/// Knows the format by the content: Hugging Face's tokenizer.json, or what becomes one: SentencePiece's
/// tokenizer.model, Mistral's tekken.json, or tiktoken's ranks, which need `pattern`: a name (see
/// scanners.hpp) or a regular expression; ranks get `eos` as a token where they have none of this text.
/// Errors: input, naming the file: none of these, a `pattern` for a file that has its own, or none for one
/// that has none; whatever is wrong in it.
TokenizerFile read_tokenizer(const fs::path& path, const std::string& pattern = {},
                             const std::string& eos = {});
/// The same of a file's bytes; `origin` names it in errors.
TokenizerFile tokenizer_of_bytes(const std::string& bytes, const std::string& origin,
                                 const std::string& pattern, const std::string& eos);

}  // namespace dt::tokenizer
