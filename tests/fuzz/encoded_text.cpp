// Text through the built-in patterns: the first byte chooses a pattern, the rest is the text. Byte-level
// tokens give back the text. Parts that were cut at safe places give the ids of the whole.
#include <array>
#include <memory>

#include "base/text/utf8.hpp"
#include "data/build/chunk_encoder.hpp"
#include "data/input/content.hpp"
#include "data/tokenizer.hpp"
#include "fuzz/fuzz.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/files/tiktoken_file.hpp"

namespace {

/// Returns all bytes, and some tokens that words, spaces and characters of several bytes merge into.
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

using Ids = std::vector<std::uint32_t>;

/// A tokenizer and its encoder: one for all texts, since a fresh one takes megabytes.
struct Target {
  explicit Target(const std::string& pattern) {
    const auto bpe = dt::tokenizer::bpe_of_ranks(vocabulary(), "fuzzed");
    const std::string text = dt::tokenizer::hugging_face_text(bpe, dt::tokenizer::regex_of_text(pattern), {});
    tokenizer = dt::data::tokenizer_of_text(text, "fuzzed", 0);
    encoder = tokenizer->encoder();
  }
  Ids ids_of(std::string_view text) const {
    Ids ids;
    encoder->encode(text, ids);
    return ids;
  }
  std::unique_ptr<dt::data::Tokenizer> tokenizer;
  std::unique_ptr<dt::data::TextEncoder> encoder;
};

const Target& target_of(std::uint8_t number) {
  // The last pattern matches everything, as text that it does not match would be dropped.
  static const std::array<Target, 5> targets = {Target("gpt2"), Target("cl100k"), Target("llama3"),
                                                Target("qwen2"), Target("[ab]+|(?m:.)\\p{M}*")};
  return targets[number % targets.size()];
}

/// Encodes the text before the last safe cut of each prefix, then the rest.
void check_cuts(const Target& target, std::string_view text, const Ids& whole) {
  for (const std::size_t part : {text.size() / 3, text.size() / 2, text.size()}) {
    const std::size_t seen = dt::whole_characters(text.substr(0, part));
    const std::size_t cut = target.tokenizer->safe_cut(text.substr(0, seen));
    dt_fuzz::require(cut <= seen, "a cut within the text");
    Ids parts = target.ids_of(text.substr(0, cut));
    const Ids rest = target.ids_of(text.substr(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    dt_fuzz::require(parts == whole, "parts have the ids of the whole");
  }
}

/// Reads the text as a file, in chunks that end at safe cuts.
void check_chunks(const Target& target, std::string_view text, const Ids& whole) {
  static const dt_fuzz::ScratchFolder folder;
  if (dt::data::content_of(text.substr(0, 512)) != dt::data::Content::plain || text.starts_with("\uFEFF"))
    return;
  dt::data::ReadOptions options;
  options.format = dt::data::InputFormat::text;
  options.chunk_bytes = 16;
  dt::data::ChunkReader reader(dt::data::walk_of({folder.put("text", text)}), options, *target.tokenizer,
                               [] {});
  Ids ids;
  while (const auto chunk = reader.next()) {
    const Ids more = encode_chunk(*chunk, *target.encoder, {}).ids;
    ids.insert(ids.end(), more.begin(), more.end());
  }
  dt_fuzz::require(ids == whole, "chunks have the ids of the whole");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const Target& target = target_of(bytes[0]);
  const std::string_view text = dt_fuzz::text_of(bytes + 1, size - 1);
  const Ids ids = target.ids_of(text);
  if (dt::find_invalid_utf8(text)) return 0;  // the ids would be those of another text
  dt_fuzz::require(target.tokenizer->decode(ids) == text, "ids give back the text");
  check_cuts(target, text, ids);
  if (bytes[0] >= 128) check_chunks(target, text, ids);
  return 0;
}
