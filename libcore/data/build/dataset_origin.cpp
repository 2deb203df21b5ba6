#include "data/build/dataset_origin.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/io/json.hpp"
#include "base/text/utf8.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> utf8_of_each(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const std::string& word : words) texts.push_back(escape_invalid_utf8(word));
  return texts;
}

Json options_of(const MakeOptions& options) {
  Json made = {{"tool", options.tool}, {"inputs", utf8_of_each(options.inputs)}};
  if (!options.input_list.empty()) made["input_list"] = escape_invalid_utf8(options.input_list);
  made["format"] = name_of(options.read.format);
  if (options.read.raw_type) made["token_type"] = *options.read.raw_type == TokenType::u16 ? "u16" : "u32";
  made["text_key"] = escape_invalid_utf8(options.lines.text_key);
  made["document_separator"] = escape_invalid_utf8(options.read.document_separator);
  made["invalid"] = name_of(options.read.invalid);
  made["skip_bad_lines"] = options.lines.skip_bad;
  if (const auto& turns = options.lines.turns) {
    made["turn_format"] = escape_invalid_utf8(turns->name.empty() ? turns->before + "{content}" + turns->after
                                                                  : "chat-template " + turns->name);
    made["loss_on"] = utf8_of_each(turns->loss_on);
  }
  made["shuffle"] = options.shuffle;
  made["seed"] = options.seed;
  made["append_eos"] = options.append_eos;
  made["val_fraction"] = options.val_fraction;
  made["split_by"] = name_of(options.split_by);
  made["deduplicate"] = options.deduplicate;
  made["min_chars"] = options.min_chars;
  if (options.max_chars < no_chars) made["max_chars"] = options.max_chars;
  made["shard_tokens"] = options.shard_tokens;
  return made;
}

}  // namespace

std::string describe_origin(const MakeOptions& options) {
  return options_of(options).dump();
}

std::string describe_origin(const MakeOptions& options, const InputIssues& issues,
                            const FilteredDocuments& left_out) {
  Json made = options_of(options);
  if (issues.invalid_sequences > 0) made["invalid_sequences"] = issues.invalid_sequences;
  if (issues.bad_lines > 0) made["bad_lines"] = issues.bad_lines;
  if (left_out.too_short > 0) made["too_short"] = left_out.too_short;
  if (left_out.too_long > 0) made["too_long"] = left_out.too_long;
  if (left_out.duplicates > 0) made["duplicates"] = left_out.duplicates;
  if (options.train_vocabulary > 0) made["train_bpe"] = options.train_vocabulary;
  return made.dump();
}

bool was_made_with(const std::string& made, const MakeOptions& options) {
  const JsonValue found = JsonValue::parse_object(made, {"how the dataset was made"});
  const Json asked = options_of(options);
  return std::all_of(asked.items().begin(), asked.items().end(), [&](const auto& item) {
    return found.has(item.key()) && found.at(item.key()).text() == item.value().dump();
  });
}

}  // namespace dt::data
