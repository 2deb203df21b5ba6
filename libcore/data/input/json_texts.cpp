#include "data/input/json_texts.hpp"

#include <new>
#include <simdjson.h>

#include "data/input/json_line.hpp"

namespace dt::data {

struct JsonTexts::Parser {
  simdjson::dom::parser parser;
};

JsonTexts::JsonTexts() : parser_(std::make_unique<Parser>()) {
  constexpr std::size_t to_begin_with = 1024;
  if (parser_->parser.allocate(to_begin_with, max_line_depth) != simdjson::SUCCESS) throw std::bad_alloc();
}
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
