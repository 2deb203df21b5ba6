// Text through the built-in patterns: the first byte chooses one, the rest is the text. Byte-level tokens
// give back the text, and parts that were cut where it is safe give the ids of the whole.
#include <array>
#include <memory>

#include "data/tokenizer.hpp"
#include "data/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "tokenizer/hf_writer.hpp"
#include "tokenizer/scanners.hpp"
#include "tokenizer/tiktoken_file.hpp"

namespace {

using dt::data::Tokenizer;

/// All bytes, and some tokens that words, spaces and characters of several bytes merge into.
dt::tokenizer::Vocabulary vocabulary() {
  dt::tokenizer::Vocabulary tokens;
  dt::tokenizer::Id id = 0;
  for (; id < 256; ++id) tokens.set(id, std::string(1, static_cast<char>(id)));
  for (const char* more : {"  ", "    ", " t", "he", " the", "in", "ing", "'s", "12", "123", "\r\n", "\n\n",
                           "\u00e4", "\u65e5", "aa", "aaaa", "ab", "aba"}) {
    tokens.set(id++, more);
  }
  return tokens;
}

std::unique_ptr<Tokenizer> tokenizer_of(const std::string& pattern) {
  const auto bpe = dt::tokenizer::bpe_of_ranks(vocabulary(), "fuzzed");
  const std::string text = dt::tokenizer::hugging_face_text(bpe, dt::tokenizer::regex_of_text(pattern), {});
  return dt::data::tokenizer_of_text(text, "fuzzed", 0);
}

const std::array<std::unique_ptr<Tokenizer>, 5>& tokenizers() {
  // What the last does not match would be dropped, so it matches everything.
  static const std::array made = {tokenizer_of("gpt2"), tokenizer_of("cl100k"), tokenizer_of("llama3"),
                                  tokenizer_of("qwen2"), tokenizer_of("[ab]+|(?s:.)\\p{M}*")};
  return made;
}

using Ids = std::vector<std::uint32_t>;

Ids ids_of(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.encoder()->encode(text, ids);
  return ids;
}

/// Encodes what lies before the last safe cut of each prefix, then the rest.
void check_cuts(const Tokenizer& tokenizer, std::string_view text, const Ids& whole) {
  for (const std::size_t seen : {text.size() / 3, text.size() / 2, text.size()}) {
    const std::size_t cut = tokenizer.safe_cut(text.substr(0, seen));
    dt_fuzz::require(cut <= seen, "a cut within the text");
    Ids parts = ids_of(tokenizer, text.substr(0, cut));
    const Ids rest = ids_of(tokenizer, text.substr(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    dt_fuzz::require(parts == whole, "parts have the ids of the whole");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const Tokenizer& tokenizer = *tokenizers()[bytes[0] % tokenizers().size()];
  const std::string_view text = dt_fuzz::text_of(bytes + 1, size - 1);
  const Ids ids = ids_of(tokenizer, text);
  if (dt::data::find_invalid_utf8(text)) return 0;  // ids are those of some text
  dt_fuzz::require(tokenizer.decode(ids) == text, "ids give back the text");
  check_cuts(tokenizer, text, ids);
  return 0;
}
