#include "data/json_texts.hpp"

#include <simdjson.h>

namespace dt::data {

struct JsonTexts::Parser {
  simdjson::dom::parser parser;
};

JsonTexts::JsonTexts() : parser_(std::make_unique<Parser>()) {}
JsonTexts::~JsonTexts() = default;

std::optional<std::string_view> JsonTexts::find(std::string_view line, std::string_view key) {
  simdjson::dom::object object;
  if (parser_->parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return std::nullopt;
  std::optional<std::string_view> text;
  for (const auto& [name, value] : object) {
    if (name != key) continue;
    text.emplace();
    if (value.get(*text) != simdjson::SUCCESS) text.reset();
  }
  return text;
}

}  // namespace dt::data
