#include <catch2/catch.hpp>
#include <random>

#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/encode/normalizer.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/encode/tokenizer.hpp"

using namespace dt::tokenizer;

namespace {

using Ids = std::vector<Id>;

/// Returns a tokenizer of bytes in which any two letters or spaces merge to one token.
Tokenizer pairs(Pattern pattern) {
  Tokenizer tokenizer;
  Bpe& bpe = tokenizer.bpe;
  for (Id byte = 0; byte < 256; ++byte) bpe.vocabulary.set(byte, std::string(1, static_cast<char>(byte)));
  for (Id byte = 0; byte < 256; ++byte) bpe.byte_ids[byte] = byte;
  const std::string letters = " ab";
  for (const char left : letters) {
    for (const char right : letters) {
      const Id id = bpe.vocabulary.size();
      bpe.vocabulary.set(id, std::string{left, right});
      bpe.merges.add(static_cast<Id>(left), static_cast<Id>(right), {id, id});
    }
  }
  tokenizer.pre_tokenizer = make_scanner(pattern);
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(make_unicode_normalizer(UnicodeForm::nfc));
  steps.push_back(make_lowercase());
  steps.push_back(make_strip_accents());
  tokenizer.normalizer = make_normalizers(std::move(steps));
  AddedToken word{998, "b"};
  word.is_single_word = true;
  tokenizer.raw_added_tokens = AddedTokenFinder({{999, "<a|b>"}, word});
  return tokenizer;
}

Ids encoded(const Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  Encoder(tokenizer).encode(text, ids);
  return ids;
}

}  // namespace

TEST_CASE("safe cut: parts give what the whole gives, whatever follows") {
  const std::string alphabet[] = {"a",  "b", "A",     " ",      " ",      "'s", "'",
                                  "\n", "1", "<a|b>", "\u0301", "\u00e9", "."};
  std::mt19937 random(1);
  const auto text = [&](std::size_t most) {
    std::string result;
    for (std::size_t count = random() % most; count > 0; --count)
      result += alphabet[random() % std::size(alphabet)];
    return result;
  };
  int num_cuts = 0;
  for (const Pattern pattern : {Pattern::gpt2, Pattern::cl100k, Pattern::llama3, Pattern::qwen2}) {
    const Tokenizer tokenizer = pairs(pattern);
    for (int round = 0; round < 200; ++round) {
      const std::string known = text(20), after = text(20);
      const std::size_t cut = safe_cut(tokenizer, known);
      num_cuts += cut > 0 ? 1 : 0;
      Ids parts = encoded(tokenizer, known.substr(0, cut));
      const Ids rest = encoded(tokenizer, known.substr(cut) + after);
      parts.insert(parts.end(), rest.begin(), rest.end());
      CAPTURE(known, after, cut);
      REQUIRE(parts == encoded(tokenizer, known + after));
    }
  }
  CHECK(num_cuts > 20);
}

TEST_CASE("safe cut: none where something reaches over words") {
  const auto cut = [](const Tokenizer& tokenizer) { return safe_cut(tokenizer, "a b c"); };
  Tokenizer tokenizer = pairs(Pattern::gpt2);
  CHECK(cut(tokenizer) == 3);
  tokenizer.raw_added_tokens = AddedTokenFinder({{999, "a b"}});
  CHECK(cut(tokenizer) == 0);
  tokenizer.raw_added_tokens = AddedTokenFinder({{999, "b", false, true, false}});
  CHECK(cut(tokenizer) == 0);
  tokenizer.raw_added_tokens = {};
  tokenizer.normalizer = make_prefix(" ", Prepend::always);
  CHECK(cut(tokenizer) == 0);
  tokenizer.normalizer = nullptr;
  CHECK(cut(tokenizer) == 3);
  tokenizer.pre_tokenizer = nullptr;
  CHECK(cut(tokenizer) == 0);
}
