#include "tokenizer/hf_tokenizer.hpp"

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/hf_parts.hpp"
#include "tokenizer/word_splitter.hpp"

namespace dt::tokenizer {

namespace {

FoundIn read_found_in(const JsonValue& token) {
  const std::string where = token.string("dt_found_in", "text");
  if (where == "text") return FoundIn::text;
  if (where == "normalized text") return FoundIn::normalized_text;
  if (where == "nothing") return FoundIn::nothing;
  throw token.at("dt_found_in").error("is not \"text\", \"normalized text\" or \"nothing\"");
}

AddedToken read_added_token(const JsonValue& token) {
  AddedToken added;
  const std::uint64_t id = token.at("id").natural();
  if (id >= max_vocabulary) throw token.at("id").error(fmt::format("is not below {}", max_vocabulary));
  added.id = static_cast<Id>(id);
  added.content = token.at("content").string();
  if (added.content.empty()) throw token.at("content").error("is empty");
  added.is_special = token.boolean("special", false);
  added.takes_space_before = token.boolean("lstrip", false);
  added.takes_space_after = token.boolean("rstrip", false);
  added.is_normalized = token.boolean("normalized", !added.is_special);
  added.found_in = read_found_in(token);
  added.is_single_word = token.boolean("single_word", false);
  return added;
}

/// tokenizer.json does not say which token ends a text: the first of the names that models have for it.
Id find_end_of_text(const std::vector<AddedToken>& added) {
  for (const char* name :
       {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<\uff5cend\u2581of\u2581sentence\uff5c>"}) {
    for (const AddedToken& token : added) {
      if (token.content == name) return token.id;
    }
  }
  return no_id;
}

/// The added tokens' texts, and where they are looked for.
void read_added_tokens(const JsonValue& list, Tokenizer& tokenizer, bool is_byte_level) {
  std::vector<AddedToken> all, raw, normalized;
  for (const JsonValue& item : list.items()) {
    AddedToken token = read_added_token(item);
    all.push_back(token);
    const auto bytes = is_byte_level ? bytes_of_alphabet(token.content) : std::nullopt;
    Vocabulary& vocabulary = tokenizer.bpe.vocabulary;
    if (!vocabulary.has(token.id)) vocabulary.set_unfindable(token.id, bytes.value_or(token.content));
    if (token.found_in == FoundIn::nothing) continue;
    const bool is_as_is = token.found_in == FoundIn::normalized_text;
    if (token.is_normalized && !is_as_is && tokenizer.normalizer) {
      BoundedText buffer(max_grown_bytes(token.content.size()));
      token.content = std::string(tokenizer.normalizer->apply(token.content, true, buffer));
    }
    if (token.content.empty()) continue;  // nothing of it is left to be found
    (token.is_normalized || is_as_is ? normalized : raw).push_back(std::move(token));
  }
  tokenizer.end_of_text = find_end_of_text(all);
  tokenizer.raw_added_tokens = AddedTokenFinder(std::move(raw));
  tokenizer.normalized_added_tokens = AddedTokenFinder(std::move(normalized));
}

void check_post_processor(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Sequence") {
    for (const JsonValue& item : step.at("processors").items()) check_post_processor(item);
  } else if (type != "ByteLevel" && type != "TemplateProcessing" && type != "BertProcessing" &&
             type != "RobertaProcessing") {
    throw unknown_kind(step, "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing, Sequence");
  }
}

}  // namespace

Error unknown_kind(const JsonValue& step, const std::string& known) {
  const JsonValue type = step.at("type");
  return type.error(fmt::format("the kind \"{}\" is unknown", type.string()), "known are " + known);
}

Tokenizer read_hugging_face(std::string_view text, const std::string& origin) {
  const JsonValue root = JsonValue::parse(text, origin);
  Tokenizer tokenizer;
  if (const auto step = root.find("normalizer")) tokenizer.normalizer = read_normalizer(*step);
  bool is_byte_level = false;
  if (const auto step = root.find("pre_tokenizer")) {
    HfPreTokenizer pre_tokenizer = read_pre_tokenizer(*step);
    tokenizer.preparer = std::move(pre_tokenizer.preparer);
    tokenizer.pre_tokenizer = std::move(pre_tokenizer.splitter);
    is_byte_level = pre_tokenizer.is_byte_level;
  }
  tokenizer.bpe = read_bpe(root.at("model"), is_byte_level);
  if (!tokenizer.pre_tokenizer) tokenizer.pre_tokenizer = make_word_splitter(tokenizer.bpe);
  if (const auto step = root.find("post_processor")) check_post_processor(*step);
  const auto decoder = root.find("decoder");
  tokenizer.decoder = decoder ? read_decoder(*decoder, is_byte_level) : Decoder{{}, " "};
  if (const auto list = root.find("added_tokens")) read_added_tokens(*list, tokenizer, is_byte_level);
  return tokenizer;
}

}  // namespace dt::tokenizer
