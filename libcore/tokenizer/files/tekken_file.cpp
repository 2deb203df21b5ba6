#include "tokenizer/files/tekken_file.hpp"

#include <algorithm>
#include <array>

#include "base/io/json.hpp"
#include "tokenizer/files/base64.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/files/tiktoken_file.hpp"

namespace dt::tokenizer {

namespace {

constexpr std::uint64_t default_num_special = 1000;

/// The numbers of tokens of a tekken.json.
struct Sizes {
  Id vocabulary, special;
};

Sizes read_sizes(const JsonValue& config) {
  const std::uint64_t vocabulary = config.at("default_vocab_size").unsigned_integer();
  const std::uint64_t special = config.unsigned_integer("default_num_special_tokens", default_num_special);
  if (special > max_vocabulary - 256)
    throw config.at("default_num_special_tokens").error(fmt::format("is above {}", max_vocabulary - 256));
  if (vocabulary > max_vocabulary || vocabulary < special + 256)
    throw config.at("default_vocab_size")
        .error(fmt::format("is outside the range {} to {}", special + 256, max_vocabulary));
  return {static_cast<Id>(vocabulary), static_cast<Id>(special)};
}

/// Reads a tekken.json's vocabulary, whose ids follow those of the special tokens.
Vocabulary read_vocabulary(const JsonValue& list, Sizes sizes) {
  Vocabulary vocabulary;
  for (const JsonValue& item : list.items()) {
    const std::uint64_t rank = item.at("rank").unsigned_integer();
    if (rank >= sizes.vocabulary - sizes.special) continue;
    const auto bytes = from_base64(item.at("token_bytes").string());
    if (!bytes) throw item.at("token_bytes").error("is not valid base64");
    const Id id = sizes.special + static_cast<Id>(rank);
    if (vocabulary.has(id) || vocabulary.find(*bytes) != no_id) throw item.error("is listed twice");
    vocabulary.set(id, *bytes);
  }
  for (Id id = sizes.special; id < sizes.vocabulary; ++id) {
    if (!vocabulary.has(id)) throw list.error(fmt::format("no token has the rank {}", id - sizes.special));
  }
  return vocabulary;
}

/// Reads a tekken.json's special tokens. Those that the file does not name get the names of Mistral's own
/// code.
std::vector<AddedToken> read_special_tokens(const JsonValue& root, Id count) {
  std::vector<AddedToken> tokens;
  for (Id id = 0; id < count; ++id) {
    tokens.push_back({id, fmt::format("<SPECIAL_{}>", id), true});
    tokens.back().found_in = FoundIn::nothing;
  }
  const auto list = root.find("special_tokens");
  for (Id id = 0; !list && id < std::min<Id>(count, 3); ++id)
    tokens[id].content = std::array{"<unk>", "<s>", "</s>"}[id];
  for (const JsonValue& item : list ? list->items() : std::vector<JsonValue>()) {
    const std::uint64_t rank = item.at("rank").unsigned_integer();
    if (rank >= count) throw item.at("rank").error(fmt::format("is not below {}", count));
    tokens[rank].content = item.at("token_str").string();
  }
  return tokens;
}

}  // namespace

bool is_tekken_file(std::string_view text) {
  if (text.find("\"token_bytes\"") == text.npos) return false;
  const JsonValue root = JsonValue::parse(text, {.origin = ""});
  const auto vocabulary = root.find("vocab");
  return vocabulary && vocabulary->is_array() && root.find("config");
}

std::string tekken_as_hugging_face(std::string_view text, const std::string& origin) {
  const JsonValue root = JsonValue::parse(text, {origin});
  const JsonValue config = root.at("config");
  const Sizes sizes = read_sizes(config);
  const std::vector<AddedToken> special_tokens = read_special_tokens(root, sizes.special);
  Bpe bpe = bpe_of_ranks(read_vocabulary(root.at("vocab"), sizes), origin);
  for (const AddedToken& token : special_tokens) bpe.vocabulary.set_unfindable(token.id, token.content);
  return hugging_face_text(bpe, regex_of_tiktoken_pattern(config.at("pattern").string()), special_tokens);
}

}  // namespace dt::tokenizer
