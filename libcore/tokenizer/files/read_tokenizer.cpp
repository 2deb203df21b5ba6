#include "tokenizer/files/read_tokenizer.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/files/sentencepiece_file.hpp"
#include "tokenizer/files/tekken_file.hpp"
#include "tokenizer/files/tiktoken_file.hpp"

namespace dt::tokenizer {

namespace {

bool is_json_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

/// Returns the file's text as a tokenizer.json.
std::string as_hugging_face(std::string text, const std::string& origin, const std::string& pattern,
                            const std::string& eos) {
  const bool is_json = is_json_object(text);
  if (is_json || is_sentencepiece_model(text)) {
    if (!pattern.empty())
      throw input_error("{} defines how text is split, so --tokenizer-pattern cannot be combined with it",
                        origin);
    if (!is_json) return sentencepiece_as_hugging_face(text, origin);
    return is_tekken_file(text) ? tekken_as_hugging_face(text, origin) : text;
  }
  if (!is_tiktoken_file(text)) {
    throw Error(ErrorKind::input, origin + " is not a tokenizer file that dt knows",
                "expected a Hugging Face tokenizer.json, a SentencePiece tokenizer.model, a tekken.json or a "
                "tiktoken rank file");
  }
  if (pattern.empty()) {
    throw Error(ErrorKind::input, origin + " does not define how text is split",
                fmt::format("give --tokenizer-pattern: {} or a regular expression",
                            fmt::join(names_of<Pattern>(), ", ")));
  }
  return tiktoken_as_hugging_face(text, origin, pattern, eos);
}

}  // namespace

TokenizerFile tokenizer_of_bytes(const std::string& bytes, const std::string& origin,
                                 const std::string& pattern, const std::string& eos) {
  TokenizerFile file;
  file.text = as_hugging_face(bytes, origin, pattern, eos);
  file.tokenizer = std::make_unique<const Tokenizer>(read_hugging_face(file.text, origin));
  return file;
}

TokenizerFile read_tokenizer(const fs::path& path, const std::string& pattern, const std::string& eos) {
  return tokenizer_of_bytes(read_file(path), path.string(), pattern, eos);
}

}  // namespace dt::tokenizer
