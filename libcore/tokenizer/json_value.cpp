#include "tokenizer/json_value.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace dt::tokenizer {

namespace {
using nlohmann::json;
}

struct JsonValue::Document {
  std::string origin;
  json root;
};

/// What the methods share; it may see the JSON library's types.
struct JsonValue::Access {
  static const json& node(const JsonValue& value) { return *static_cast<const json*>(value.node_); }
  static const json& expect(const JsonValue& value, bool is_it, const char* expected) {
    if (!is_it)
      throw value.error(fmt::format("a JSON {}, where {} is expected", node(value).type_name(), expected));
    return node(value);
  }
  static JsonValue member(const JsonValue& value, const std::string& name, const json& node) {
    return {value.document_, &node, value.path_.empty() ? name : value.path_ + "." + name};
  }
};

JsonValue JsonValue::parse(std::string_view text, const std::string& origin) {
  auto document = std::make_shared<Document>();
  document->origin = origin;
  if (json_nests_too_deep(text))
    throw input_error("{} nests more than {} levels deep", origin, max_json_depth);
  try {
    document->root = json::parse(text);
  } catch (const json::parse_error& error) {
    throw input_error("{}: line {} is not valid JSON", origin, line_at(text, error.byte));
  } catch (const json::exception&) {
    throw input_error("{} holds a number beyond all bounds", origin);
  }
  const void* root = &document->root;
  return {std::move(document), root, ""};
}

bool JsonValue::is_null() const {
  return Access::node(*this).is_null();
}
bool JsonValue::is_string() const {
  return Access::node(*this).is_string();
}
bool JsonValue::is_array() const {
  return Access::node(*this).is_array();
}
bool JsonValue::is_zero() const {
  return Access::node(*this).is_number() && Access::node(*this).get<double>() == 0;
}
bool JsonValue::is_object() const {
  return Access::node(*this).is_object();
}

bool JsonValue::boolean() const {
  return Access::expect(*this, Access::node(*this).is_boolean(), "true or false").get<bool>();
}
std::uint64_t JsonValue::natural() const {
  return Access::expect(*this, Access::node(*this).is_number_unsigned(), "a number counted from 0")
      .get<std::uint64_t>();
}
const std::string& JsonValue::string() const {
  return Access::expect(*this, is_string(), "a string").get_ref<const std::string&>();
}

std::vector<JsonValue> JsonValue::items() const {
  std::vector<JsonValue> result;
  for (const json& item : Access::expect(*this, is_array(), "an array"))
    result.push_back(JsonValue(document_, &item, fmt::format("{}[{}]", path_, result.size())));
  return result;
}

JsonValue JsonValue::at(const std::string& name) const {
  const json& object = Access::expect(*this, is_object(), "an object");
  const auto found = object.find(name);
  if (found == object.end()) throw Access::member(*this, name, object).error("is missing");
  return Access::member(*this, name, *found);
}

std::optional<JsonValue> JsonValue::find(const std::string& name) const {
  const json& object = Access::expect(*this, is_object(), "an object");
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return Access::member(*this, name, *found);
}

bool JsonValue::boolean(const std::string& name, bool otherwise) const {
  const auto value = find(name);
  return value ? value->boolean() : otherwise;
}
std::uint64_t JsonValue::natural(const std::string& name, std::uint64_t otherwise) const {
  const auto value = find(name);
  return value ? value->natural() : otherwise;
}
std::string JsonValue::string(const std::string& name, const std::string& otherwise) const {
  const auto value = find(name);
  return value ? value->string() : otherwise;
}

void JsonValue::each_natural(const std::function<void(const std::string&, std::uint64_t)>& use) const {
  const json& object = Access::expect(*this, is_object(), "an object");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_number_unsigned())
      throw Access::member(*this, name, value).error("is not a number counted from 0");
    use(name, value.get<std::uint64_t>());
  }
}

Error JsonValue::error(const std::string& what, const std::string& context) const {
  const std::string where = path_.empty() ? document_->origin : document_->origin + ": " + path_;
  return Error(ErrorKind::input, fmt::format("{}: {}", where, what), context);
}

}  // namespace dt::tokenizer
