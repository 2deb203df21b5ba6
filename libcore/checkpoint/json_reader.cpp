#include "checkpoint/json_reader.hpp"

#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace dt::checkpoint {

namespace {
using json = nlohmann::ordered_json;

}  // namespace

struct JsonObject::Document {
  std::string origin;
  std::string remedy;
  json root;
};

/// What the methods share; it may see the JSON library's types.
struct JsonObject::Access {
  static const json& node(const JsonObject& object) { return *static_cast<const json*>(object.node_); }

  static std::string path(const JsonObject& object, const std::string& name) {
    return object.path_.empty() ? name : object.path_ + "." + name;
  }

  static Error wrong(const JsonObject& object, const std::string& name, const std::string& expected) {
    const Document& document = *object.document_;
    return Error(ErrorKind::input,
                 fmt::format("{}: member '{}' {}", document.origin, path(object, name), expected),
                 document.remedy);
  }

  static const json& member(const JsonObject& object, const std::string& name) {
    const auto found = node(object).find(name);
    if (found == node(object).end()) throw wrong(object, name, "is missing");
    return *found;
  }

  static const json& array(const JsonObject& object, const std::string& name) {
    const json& value = member(object, name);
    if (!value.is_array()) throw wrong(object, name, "is not an array");
    return value;
  }

  static std::int64_t integer(const JsonObject& object, const std::string& name, const json& value) {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!fits) throw wrong(object, name, "is not an integer");
    return value.get<std::int64_t>();
  }

  static std::uint64_t natural(const JsonObject& object, const std::string& name, const json& value) {
    if (!value.is_number_unsigned()) throw wrong(object, name, "is not a number counted from 0");
    return value.get<std::uint64_t>();
  }

  static std::uint64_t digest(const JsonObject& object, const std::string& name, const json& value) {
    if (!value.is_string()) throw wrong(object, name, "is not a digest of 16 hexadecimal digits");
    try {
      return from_hex(value.get_ref<const std::string&>());
    } catch (const Error&) {
      throw wrong(object, name, "is not a digest of 16 hexadecimal digits");
    }
  }

  template <class T, class Convert>
  static std::vector<T> values(const JsonObject& object, const std::string& name, Convert convert) {
    std::vector<T> result;
    for (const json& value : array(object, name)) result.push_back(convert(object, name, value));
    return result;
  }
};

JsonObject JsonObject::parse(std::string_view text, const std::string& origin, const std::string& remedy) {
  auto document = std::make_shared<Document>();
  document->origin = origin;
  document->remedy = remedy;
  if (json_nests_too_deep(text)) {
    throw Error(ErrorKind::input, fmt::format("{} nests more than {} levels deep", origin, max_json_depth),
                remedy);
  }
  try {
    document->root = json::parse(text);
  } catch (const json::parse_error& error) {
    throw Error(ErrorKind::input,
                fmt::format("{}: line {} is not valid JSON", origin, line_at(text, error.byte)), remedy);
  } catch (const json::exception&) {
    throw Error(ErrorKind::input, fmt::format("{} holds a number beyond all bounds", origin), remedy);
  }
  if (!document->root.is_object()) {
    throw Error(ErrorKind::input, fmt::format("{} is not a JSON object", origin), remedy);
  }
  const void* root = &document->root;
  return {std::move(document), root, ""};
}

bool JsonObject::has(const std::string& name) const {
  return Access::node(*this).contains(name);
}

std::vector<std::string> JsonObject::names() const {
  std::vector<std::string> result;
  for (const auto& item : Access::node(*this).items()) result.push_back(item.key());
  return result;
}

std::int64_t JsonObject::integer(const std::string& name) const {
  return Access::integer(*this, name, Access::member(*this, name));
}

std::uint64_t JsonObject::natural(const std::string& name) const {
  return Access::natural(*this, name, Access::member(*this, name));
}

bool JsonObject::boolean(const std::string& name) const {
  const json& value = Access::member(*this, name);
  if (!value.is_boolean()) throw Access::wrong(*this, name, "is neither true nor false");
  return value.get<bool>();
}

double JsonObject::number(const std::string& name) const {
  const json& value = Access::member(*this, name);
  if (!value.is_number()) throw Access::wrong(*this, name, "is not a number");
  return value.get<double>();
}

std::string JsonObject::string(const std::string& name) const {
  const json& value = Access::member(*this, name);
  if (!value.is_string()) throw Access::wrong(*this, name, "is not a string");
  return value.get<std::string>();
}

std::uint64_t JsonObject::digest(const std::string& name) const {
  return Access::digest(*this, name, Access::member(*this, name));
}

std::vector<std::int64_t> JsonObject::integers(const std::string& name) const {
  return Access::values<std::int64_t>(*this, name, Access::integer);
}

std::vector<std::uint64_t> JsonObject::naturals(const std::string& name) const {
  return Access::values<std::uint64_t>(*this, name, Access::natural);
}

std::vector<std::uint64_t> JsonObject::digests(const std::string& name) const {
  return Access::values<std::uint64_t>(*this, name, Access::digest);
}

JsonObject JsonObject::object(const std::string& name) const {
  const json& value = Access::member(*this, name);
  if (!value.is_object()) throw Access::wrong(*this, name, "is not an object");
  return {document_, &value, Access::path(*this, name)};
}

std::vector<JsonObject> JsonObject::objects(const std::string& name) const {
  std::vector<JsonObject> result;
  for (const json& value : Access::array(*this, name)) {
    const std::string item = fmt::format("{}[{}]", name, result.size());
    if (!value.is_object()) throw Access::wrong(*this, item, "is not an object");
    result.push_back(JsonObject(document_, &value, Access::path(*this, item)));
  }
  return result;
}

std::string JsonObject::object_text(const std::string& name) const {
  const json& value = Access::member(*this, name);
  if (!value.is_object()) throw Access::wrong(*this, name, "is not an object");
  return value.dump();
}

std::string JsonObject::where() const {
  return path_.empty() ? document_->origin : fmt::format("{}: member '{}'", document_->origin, path_);
}

}  // namespace dt::checkpoint
