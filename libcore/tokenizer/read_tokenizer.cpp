#include "tokenizer/read_tokenizer.hpp"

#include "base/error.hpp"
#include "tokenizer/hf_tokenizer.hpp"
#include "tokenizer/tiktoken_file.hpp"

namespace dt::tokenizer {

namespace {

bool is_json_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

Tokenizer read_text(std::string_view text, const std::string& origin, const std::string& pattern) {
  if (is_json_object(text)) {
    if (!pattern.empty())
      throw input_error("{} says itself how text is split, a pattern beside it has no use", origin);
    return read_hugging_face(text, origin);
  }
  if (!is_tiktoken_file(text)) {
    throw Error(ErrorKind::input, origin + " is no tokenizer that is known",
                "expected: Hugging Face's tokenizer.json or tiktoken's ranks");
  }
  if (pattern.empty()) {
    throw Error(ErrorKind::input, origin + " does not say how text is split",
                "a pattern is expected: gpt2, cl100k, llama3, qwen2 or a regular expression");
  }
  return read_tiktoken(text, origin, pattern);
}

}  // namespace

std::unique_ptr<const Tokenizer> read_tokenizer(const fs::path& path, const std::string& pattern) {
  return std::make_unique<const Tokenizer>(read_text(read_file(path), path.string(), pattern));
}

}  // namespace dt::tokenizer
