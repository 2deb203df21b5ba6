#include "tokenizer/hf_writer.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tokenizer/byte_alphabet.hpp"

namespace dt::tokenizer {

namespace {

using json = nlohmann::ordered_json;

json split_by(const std::string& regex) {
  const json split = {
      {"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Removed"}, {"invert", true}};
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
                    {"normalized", false},
                    {"special", true}});
  }
  return list;
}

json model_of(const Bpe& bpe, const std::vector<AddedToken>& special_tokens) {
  std::vector<std::string> texts;
  for (Id id = 0; id < bpe.vocabulary.size(); ++id) texts.push_back(in_alphabet(bpe.vocabulary.bytes(id)));
  for (const AddedToken& token : special_tokens) {
    if (token.id < texts.size()) texts[token.id] = token.content;
  }
  json::object_t vocab;
  for (Id id = 0; id < texts.size(); ++id) {
    if (bpe.vocabulary.has(id)) vocab.push_back({texts[id], id});  // not by [], which looks for it
  }
  json merges = json::array();
  for (const auto& [left, right] : bpe.merges.pairs())
    merges.push_back(json::array({texts[left], texts[right]}));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", bpe.takes_whole_pieces},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

}  // namespace

std::string hugging_face_text(const Bpe& bpe, const std::string& regex,
                              const std::vector<AddedToken>& special_tokens) {
  DT_CHECK(bpe.is_byte_level, "tokens are characters");
  const json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  const json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added_tokens(special_tokens)},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", split_by(regex)},
                     {"post_processor", nullptr},
                     {"decoder", bytes},
                     {"model", model_of(bpe, special_tokens)}};
  return file.dump(1) + "\n";
}

}  // namespace dt::tokenizer
