#pragma once
// Reads a tokenizer from a file of any known format.

#include <memory>
#include <string>

#include "base/io/files.hpp"
#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

/// A tokenizer, and the tokenizer.json that describes it completely.
struct TokenizerFile {
  std::string text;
  std::unique_ptr<const Tokenizer> tokenizer;
};

/// Reads a tokenizer file, whose content tells its format.
/// The formats are Hugging Face's tokenizer.json, and those that dt turns into one: SentencePiece's
/// tokenizer.model, Mistral's tekken.json and tiktoken's ranks. Ranks need `pattern`: a name (see
/// scanners.hpp) or a regular expression. Ranks without a token of the text `eos` get one.
/// Errors: input, naming the file: an unknown format, a `pattern` for a file that has its own, no
/// `pattern` for ranks, or any fault in the content.
TokenizerFile read_tokenizer(const fs::path& path, const std::string& pattern = {},
                             const std::string& eos = {});
/// Reads a tokenizer from a file's bytes. `origin` names the file in errors.
TokenizerFile tokenizer_of_bytes(const std::string& bytes, const std::string& origin,
                                 const std::string& pattern, const std::string& eos);

}  // namespace dt::tokenizer
