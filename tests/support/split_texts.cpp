// split_texts: splits or normalizes texts, for comparisons with other tokenizers. Reads JSON lines
// from standard input. Each has "texts", and one of "pre_tokenizer", a step of a tokenizer.json,
// "normalizer", likewise, or "tiktoken", a pattern. Writes a JSON line for each. "pieces" has the
// pieces of each text; a normalizer makes one. A text that is refused has null in "pieces", and its
// reason is in "errors". If the step is refused, "refused" has the reason. For a pattern of
// tiktoken, "regex" is the regular expression that it becomes.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "tokenizer/encode/bounded_text.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/files/hf_parts.hpp"
#include "tokenizer/files/tiktoken_regex.hpp"

using namespace dt::tokenizer;
using nlohmann::json;

namespace {

class Pieces final : public PieceSink {
 public:
  std::vector<std::string> list;

 protected:
  void take(std::span<const std::string_view> pieces) override {
    list.insert(list.end(), pieces.begin(), pieces.end());
  }
};

json pieces_of(const HfPreTokenizer& step, const std::string& text) {
  Pieces pieces;
  step.splitter->split(text, pieces);
  pieces.flush();
  return pieces.list;
}

json normalized(const Normalizer& step, const std::string& text) {
  BoundedText buffer(max_grown_bytes(text.size()));
  return json::array({std::string(step.apply(text, true, buffer))});
}

template <class Apply>
void add_each(const json& texts, Apply apply, json& answer) {
  answer["pieces"] = json::array();
  answer["errors"] = json::array();
  for (const json& text : texts) {
    try {
      answer["pieces"].push_back(apply(text.get<std::string>()));
    } catch (const dt::Error& error) {
      answer["pieces"].push_back(nullptr);
      answer["errors"].push_back(error.message());
    }
  }
}

json answered(const json& request) {
  json answer;
  if (request.contains("normalizer")) {
    const auto step = read_normalizer(dt::JsonValue::parse(request["normalizer"].dump(), {"step"}));
    add_each(
        request["texts"], [&](const std::string& text) { return normalized(*step, text); }, answer);
    return answer;
  }
  HfPreTokenizer step;
  if (request.contains("tiktoken")) {
    answer["regex"] = regex_of_tiktoken(request["tiktoken"].get<std::string>());
    step.splitter =
        make_regex_splitter(answer["regex"].get<std::string>(), SplitBehavior::removed, true, true);
  } else {
    step = read_pre_tokenizer(dt::JsonValue::parse(request["pre_tokenizer"].dump(), {"step"}));
  }
  add_each(
      request["texts"], [&](const std::string& text) { return pieces_of(step, text); }, answer);
  return answer;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = answered(json::parse(line));
    } catch (const dt::Error& error) {
      answer["refused"] = error.message();
    }
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
}
