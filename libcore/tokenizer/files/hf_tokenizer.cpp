#include "tokenizer/files/hf_tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "tokenizer/encode/bounded_text.hpp"
#include "tokenizer/encode/byte_alphabet.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/encode/tokenizer.hpp"
#include "tokenizer/files/hf_parts.hpp"

namespace dt::tokenizer {

namespace {

FoundIn read_found_in(const JsonValue& token) {
  const std::string where = token.string("dt_found_in", std::string(name_of(FoundIn::text)));
  if (const auto found_in = parse_name<FoundIn>(where)) return *found_in;
  throw token.at("dt_found_in").error("is not \"text\", \"normalized text\" or \"nothing\"");
}

/// Reads an added token except for its id, which follows from the content (see AddedTokenIds).
AddedToken read_added_token(const JsonValue& token) {
  AddedToken added;
  token.at("id").unsigned_integer();
  added.content = token.at("content").string();
  added.is_special = token.boolean("special", false);
  added.takes_space_before = token.boolean("lstrip", false);
  added.takes_space_after = token.boolean("rstrip", false);
  added.is_normalized = token.boolean("normalized", !added.is_special);
  added.found_in = read_found_in(token);
  added.is_single_word = token.boolean("single_word", false);
  return added;
}

/// Returns the token that ends a text, or no_id if there is none. tokenizer.json does not name this
/// token. The function therefore looks for the names that models use for it; the first one found
/// decides.
Id find_end_of_text(const std::vector<AddedToken>& added) {
  for (const char* name :
       {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<\uff5cend\u2581of\u2581sentence\uff5c>"}) {
    for (const AddedToken& token : added) {
      if (token.content == name) return token.id;
    }
  }
  return no_id;
}

/// Gives added tokens the ids that Hugging Face's tokenizers give them, whatever the file says.
/// A content in the vocabulary keeps the vocabulary's id. Any other content takes the next number from
/// the vocabulary's size on, even if another token has it. Of several tokens with one id, the last is
/// found in text.
/// Source: tokenizers 0.23, AddedVocabulary::add_tokens.
class AddedTokenIds {
 public:
  explicit AddedTokenIds(const IdsByText& vocabulary)
      : vocabulary_(vocabulary), next_(static_cast<Id>(vocabulary.size())) {}

  void add(AddedToken token) {
    const auto [known, is_new] = ids_.try_emplace(token.content, no_id);
    if (is_new) {
      const auto found = vocabulary_.find(token.content);
      known->second = found == vocabulary_.end() ? next_++ : found->second;
    }
    token.id = known->second;
    if (token.is_special) specials_.insert(token.content);
    const auto [place, is_first] = places_.try_emplace(token.id, tokens_.size());
    if (is_first) {
      tokens_.push_back(std::move(token));
    } else {
      tokens_[place->second] = std::move(token);
    }
  }

  bool is_new(const AddedToken& token) const { return !vocabulary_.contains(token.content); }
  /// Returns one token for each id. A content that is special once is special.
  std::vector<AddedToken> take() {
    for (AddedToken& token : tokens_) token.is_special = specials_.contains(token.content);
    return std::move(tokens_);
  }

 private:
  const IdsByText& vocabulary_;
  Id next_;
  IdsByText ids_;
  std::unordered_set<std::string> specials_;
  std::unordered_map<Id, std::size_t> places_;
  std::vector<AddedToken> tokens_;
};

/// Refuses two tokens that are looked for in the same text by the same content: they cannot be told
/// apart.
void check_distinct(const std::vector<AddedToken>& found, const JsonValue& list) {
  std::unordered_map<std::string_view, Id> ids;
  for (const AddedToken& token : found) {
    const auto [other, is_new] = ids.try_emplace(token.content, token.id);
    if (!is_new)
      throw list.error(fmt::format("the tokens {} and {} are both found in text as \"{}\"", other->second,
                                   token.id, token.content),
                       "remove one of them");
  }
}

/// Reads the added tokens' texts, and where the encoder looks for them.
void read_added_tokens(const JsonValue& list, const IdsByText& ids, Tokenizer& tokenizer,
                       bool is_byte_level) {
  AddedTokenIds read(ids);
  for (const JsonValue& item : list.items()) {
    AddedToken token = read_added_token(item);
    if (!token.content.empty()) read.add(std::move(token));
  }
  const std::vector<AddedToken> all = read.take();
  std::vector<AddedToken> raw, normalized;
  for (AddedToken token : all) {
    if (token.id >= max_vocabulary) throw list.error(fmt::format("has ids of {} or more", max_vocabulary));
    const auto bytes = is_byte_level ? bytes_of_alphabet(token.content) : std::nullopt;
    if (read.is_new(token)) tokenizer.bpe.vocabulary.set_unfindable(token.id, bytes.value_or(token.content));
    if (token.found_in == FoundIn::nothing) continue;
    const bool is_as_is = token.found_in == FoundIn::normalized_text;
    if (token.is_normalized && !is_as_is && tokenizer.normalizer) {
      BoundedText buffer(max_grown_bytes(token.content.size()));
      token.content = std::string(tokenizer.normalizer->apply(token.content, true, buffer));
    }
    if (token.content.empty()) continue;  // normalization left nothing to find
    (token.is_normalized || is_as_is ? normalized : raw).push_back(std::move(token));
  }
  check_distinct(raw, list);
  check_distinct(normalized, list);
  tokenizer.end_of_text = find_end_of_text(all);
  tokenizer.raw_added_tokens = AddedTokenFinder(std::move(raw));
  tokenizer.normalized_added_tokens = AddedTokenFinder(std::move(normalized));
}

/// Counts the steps that each text goes through. A Sequence counts as its steps, an empty one as one
/// step.
/// Errors: input if there are more steps than any real tokenizer has, since each goes over all of a
/// text.
void count_steps(const JsonValue& step, std::size_t& count) {
  constexpr std::size_t max_steps = 128;  // DeepSeek's seven are many
  std::size_t num_inner = 0;
  for (const char* list : {"normalizers", "pretokenizers", "decoders", "dt_decoders"}) {
    const auto steps = step.find(list);
    if (!steps) continue;
    for (const JsonValue& item : steps->items()) {
      count_steps(item, count);
      ++num_inner;
    }
  }
  if (num_inner == 0 && ++count > max_steps)
    throw step.error(
        fmt::format("is step {} of the tokenizer; the limit is {} steps, including those of nested "
                    "Sequences",
                    count, max_steps));
}

void check_num_steps(const JsonValue& root) {
  std::size_t count = 0;
  for (const char* part : {"normalizer", "pre_tokenizer", "decoder"}) {
    if (const auto step = root.find(part)) count_steps(*step, count);
  }
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

Tokenizer read_parts(std::string_view text, const std::string& origin) {
  const JsonValue root = JsonValue::parse(text, {.origin = origin, .nul_in_names = true});
  check_num_steps(root);
  Tokenizer tokenizer;
  if (const auto step = root.find("normalizer")) tokenizer.normalizer = read_normalizer(*step);
  bool is_byte_level = false;
  if (const auto step = root.find("pre_tokenizer")) {
    HfPreTokenizer pre_tokenizer = read_pre_tokenizer(*step);
    tokenizer.preparer = std::move(pre_tokenizer.preparer);
    tokenizer.pre_tokenizer = std::move(pre_tokenizer.splitter);
    is_byte_level = pre_tokenizer.is_byte_level;
  }
  const JsonValue model = root.at("model");
  const IdsByText ids = read_vocabulary(model);
  tokenizer.bpe = read_bpe(model, ids, is_byte_level);
  if (!tokenizer.pre_tokenizer) tokenizer.pre_tokenizer = make_word_splitter(tokenizer.bpe);
  if (const auto step = root.find("post_processor")) check_post_processor(*step);
  const auto decoder = root.find("decoder");
  tokenizer.decoder = decoder ? read_decoder(*decoder, is_byte_level) : Decoder{{}, " "};
  if (const auto list = root.find("added_tokens")) read_added_tokens(*list, ids, tokenizer, is_byte_level);
  return tokenizer;
}

using json = nlohmann::ordered_json;

json split_by(const std::string& regex) {
  const json split = {{"type", "Split"},
                      {"pattern", {{"Regex", regex}}},
                      {"behavior", "Removed"},
                      {"invert", true},
                      {"dt_must_cover", true}};
  const json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"type", "Sequence"}, {"pretokenizers", json::array({split, bytes})}};
}

json added_tokens(const std::vector<AddedToken>& tokens) {
  json list = json::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", token.is_normalized},
                    {"special", token.is_special}});
    if (token.found_in != FoundIn::text) list.back()["dt_found_in"] = name_of(token.found_in);
  }
  return list;
}

/// Returns the tokens as the file writes them.
std::vector<std::string> texts_of(const Bpe& bpe, const std::vector<AddedToken>& special_tokens) {
  std::vector<std::string> texts;
  for (Id id = 0; id < bpe.vocabulary.size(); ++id) {
    const std::string_view bytes = bpe.vocabulary.bytes(id);
    texts.push_back(bpe.is_byte_level ? in_alphabet(bytes) : std::string(bytes));
  }
  for (const AddedToken& token : special_tokens) {
    if (token.id < texts.size()) texts[token.id] = token.content;
  }
  return texts;
}

json vocabulary_of(const Bpe& bpe, const std::vector<std::string>& texts) {
  json::object_t vocab;
  for (Id id = 0; id < texts.size(); ++id) {
    if (bpe.vocabulary.has(id)) vocab.push_back({texts[id], id});  // [] would search for the name
  }
  return vocab;
}

/// Returns the indices of the merges that share the rank of the merge before them.
json ties_of(const MergeTable& merges) {
  json ties = json::array();
  Rank previous = no_rank;
  std::size_t index = 0;
  for (const auto& [left, right] : merges.pairs()) {
    const Rank rank = merges.find(left, right).rank;
    if (rank == previous) ties.push_back(index);
    previous = rank;
    ++index;
  }
  return ties;
}

json model_of(const Bpe& bpe, const std::vector<AddedToken>& special_tokens) {
  const std::vector<std::string> texts = texts_of(bpe, special_tokens);
  json merges = json::array();
  for (const auto& [left, right] : bpe.merges.pairs())
    merges.push_back(json::array({texts[left], texts[right]}));
  json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", bpe.unknown == no_id ? json() : json(texts[bpe.unknown])},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", bpe.fuses_unknown},
                {"byte_fallback", !bpe.is_byte_level && bpe.byte_ids[0] != no_id},
                {"ignore_merges", bpe.takes_whole_pieces},
                {"vocab", vocabulary_of(bpe, texts)},
                {"merges", std::move(merges)}};
  json ties = ties_of(bpe.merges);
  if (!ties.empty()) model["dt_ties"] = std::move(ties);
  return model;
}

json step_of(const std::string& text) {
  return text.empty() ? json() : parse_json(text, {"a step of the tokenizer", {}, /*nul_in_names=*/true});
}

}  // namespace

Tokenizer read_hugging_face(std::string_view text, const std::string& origin) {
  try {
    return read_parts(text, origin);
  } catch (const Error& error) {
    // Code that builds a part of a tokenizer does not know the file.
    const std::string what = error.what();
    if (error.kind() != ErrorKind::input || what.find(origin) != what.npos) throw;
    throw Error(error.kind(), origin + ": " + what, error.context(), error.error_number());
  }
}

std::string hugging_face_text(const Bpe& bpe, const HfSteps& steps,
                              const std::vector<AddedToken>& special_tokens) {
  const json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added_tokens(special_tokens)},
                     {"normalizer", step_of(steps.normalizer)},
                     {"pre_tokenizer", step_of(steps.pre_tokenizer)},
                     {"post_processor", nullptr},
                     {"decoder", step_of(steps.decoder)},
                     {"model", model_of(bpe, special_tokens)}};
  return file.dump(1) + "\n";
}

std::string hugging_face_text(const Bpe& bpe, const std::string& regex,
                              const std::vector<AddedToken>& special_tokens) {
  DT_CHECK(bpe.is_byte_level, "the tokenizer is not byte-level");
  const json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  return hugging_face_text(bpe, HfSteps{{}, split_by(regex).dump(), bytes.dump()}, special_tokens);
}

}  // namespace dt::tokenizer
