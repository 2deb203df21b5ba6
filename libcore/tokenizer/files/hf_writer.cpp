#include "tokenizer/files/hf_writer.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "tokenizer/encode/byte_alphabet.hpp"

namespace dt::tokenizer {

namespace {

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
    if (token.found_in == FoundIn::nothing) list.back()["dt_found_in"] = "nothing";
    if (token.found_in == FoundIn::normalized_text) list.back()["dt_found_in"] = "normalized text";
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
  DT_CHECK(bpe.is_byte_level, "tokens are characters");
  const json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  return hugging_face_text(bpe, HfSteps{{}, split_by(regex).dump(), bytes.dump()}, special_tokens);
}

}  // namespace dt::tokenizer
