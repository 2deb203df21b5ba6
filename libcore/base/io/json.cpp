#include "base/io/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/numeric/digest.hpp"

namespace dt {

namespace {

using Json = nlohmann::ordered_json;
using Members = Json::object_t::Container;  // a vector

/// Positions of an object's members in the order of their names.
using Order = std::vector<std::uint32_t>;

/// Members of objects up to this size are compared one by one.
constexpr std::size_t small_object = 16;

/// Returns the name of the value at a path, for errors.
std::string name_of(const std::string& path) {
  return path.empty() ? "it" : fmt::format("member '{}'", path);
}

}  // namespace

struct JsonValue::Document {
  Document(JsonSource its_source, Json its_root) : source(std::move(its_source)), root(std::move(its_root)) {}

  JsonSource source;
  Json root;
  mutable std::mutex mutex;                                  // guards `orders`
  mutable std::unordered_map<const Members*, Order> orders;  // large objects in which a member was looked up

  const Order& order(const Members& members) const {
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = orders.try_emplace(&members);
    Order& order = found->second;
    if (!is_new) return order;
    order.resize(members.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto name_at = [&](std::uint32_t i) -> const std::string& { return members[i].first; };
    if (!std::ranges::is_sorted(order, {}, name_at)) std::ranges::sort(order, {}, name_at);
    return order;
  }
};

/// Helpers of the methods that use the JSON library's types.
struct JsonValue::Access {
  static JsonValue root(const JsonSource& source, Json&& tree) {
    auto document = std::make_shared<Document>(source, std::move(tree));
    const void* root = &document->root;
    return {std::move(document), root, ""};
  }

  static const Json& node(const JsonValue& value) { return *static_cast<const Json*>(value.node_); }

  static Error wrong(const JsonValue& value, const std::string& what) {
    const JsonSource& source = value.document_->source;
    return Error(ErrorKind::input, fmt::format("{}: {} {}", source.origin, name_of(value.path_), what),
                 source.remedy);
  }

  static const Json& expect(const JsonValue& value, bool is_it, const char* expected) {
    if (is_it) return node(value);
    throw wrong(value, fmt::format("is not {} (it is {})", expected, describe(node(value))));
  }

  /// Returns a number or a short text as it is, and the type's name for anything else.
  static std::string describe(const Json& node) {
    constexpr std::size_t short_text = 40;
    if (node.is_number() || node.is_boolean() || node.is_null()) return node.dump();
    if (node.is_string() && node.get_ref<const std::string&>().size() <= short_text) return node.dump();
    return fmt::format("{} {}", node.is_array() || node.is_object() ? "an" : "a", node.type_name());
  }

  static const Members& members(const JsonValue& value) {
    return expect(value, node(value).is_object(), "an object").get_ref<const Json::object_t&>();
  }

  static const Json::array_t& array(const JsonValue& value) {
    return expect(value, node(value).is_array(), "an array").get_ref<const Json::array_t&>();
  }

  static JsonValue member(const JsonValue& value, const std::string& name, const Json* node) {
    return {value.document_, node, value.path_.empty() ? name : value.path_ + "." + name};
  }

  static const Json* find(const JsonValue& value, const std::string& name) {
    const Members& all = members(value);
    if (all.size() <= small_object) {
      const auto found =
          std::ranges::find(all, name, [](const auto& m) -> const std::string& { return m.first; });
      return found == all.end() ? nullptr : &found->second;
    }
    const Order& order = value.document_->order(all);
    const auto name_at = [&](std::uint32_t i) -> const std::string& { return all[i].first; };
    const auto found = std::ranges::lower_bound(order, name, {}, name_at);
    return found == order.end() || name_at(*found) != name ? nullptr : &all[*found].second;
  }

  template <class T>
  static std::vector<T> values(const JsonValue& list, T (JsonValue::*convert)() const) {
    std::vector<T> result;
    for (const JsonValue& item : list.items()) result.push_back((item.*convert)());
    return result;
  }

  template <class T>
  static T in_range(const JsonValue& value, T number, T least, T most) {
    if (number >= least && number <= most) return number;
    throw wrong(value, fmt::format("is {}, expected {} to {}", number, least, most));
  }
};

JsonValue JsonValue::parse(std::string_view text, const JsonSource& source) {
  return Access::root(source, parse_json(text, source));
}

JsonValue JsonValue::parse_object(std::string_view text, const JsonSource& source) {
  return Access::root(source, parse_json_object(text, source));
}

std::optional<JsonValue> JsonValue::parse_if_object(std::string_view text) {
  try {
    return parse_object(text, {"text"});
  } catch (const Error&) {
    return std::nullopt;
  }
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
bool JsonValue::is_object() const {
  return Access::node(*this).is_object();
}
bool JsonValue::is_zero() const {
  return Access::node(*this).is_number() && Access::node(*this).get<double>() == 0;
}

bool JsonValue::boolean() const {
  return Access::expect(*this, Access::node(*this).is_boolean(), "true or false").get<bool>();
}

std::int64_t JsonValue::integer() const {
  const Json& value = Access::node(*this);
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  return Access::expect(*this, fits, "a 64-bit integer").get<std::int64_t>();
}

std::uint64_t JsonValue::unsigned_integer() const {
  return Access::expect(*this, Access::node(*this).is_number_unsigned(), "an unsigned integer")
      .get<std::uint64_t>();
}

double JsonValue::number() const {
  return Access::expect(*this, Access::node(*this).is_number(), "a number").get<double>();
}

const std::string& JsonValue::string() const {
  return Access::expect(*this, is_string(), "a string").get_ref<const std::string&>();
}

std::uint64_t JsonValue::digest() const {
  constexpr const char* expected = "a digest of 16 hexadecimal digits";
  Access::expect(*this, is_string(), expected);
  try {
    return from_hex(string());
  } catch (const Error&) {
    Access::expect(*this, false, expected);
    throw;
  }
}

std::vector<JsonValue> JsonValue::items() const {
  std::vector<JsonValue> result;
  const Json::array_t& array = Access::array(*this);
  result.reserve(array.size());
  for (const Json& item : array)
    result.push_back(JsonValue(document_, &item, fmt::format("{}[{}]", path_, result.size())));
  return result;
}

bool JsonValue::has(const std::string& name) const {
  return Access::find(*this, name) != nullptr;
}

JsonValue JsonValue::at(const std::string& name) const {
  const Json* found = Access::find(*this, name);
  JsonValue member = Access::member(*this, name, found);
  if (found == nullptr) throw Access::wrong(member, "is missing");
  return member;
}

std::optional<JsonValue> JsonValue::find(const std::string& name) const {
  const Json* found = Access::find(*this, name);
  if (found == nullptr || found->is_null()) return std::nullopt;
  return Access::member(*this, name, found);
}

std::vector<std::string> JsonValue::names() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : Access::members(*this)) result.push_back(name);
  return result;
}

std::int64_t JsonValue::integer(const std::string& name, std::int64_t least, std::int64_t most) const {
  const JsonValue value = at(name);
  return Access::in_range(value, value.integer(), least, most);
}

double JsonValue::number(const std::string& name, double least, double most) const {
  const JsonValue value = at(name);
  return Access::in_range(value, value.number(), least, most);
}

std::vector<std::int64_t> JsonValue::integers(const std::string& name) const {
  return Access::values<std::int64_t>(at(name), &JsonValue::integer);
}

std::vector<std::uint64_t> JsonValue::unsigned_integers(const std::string& name) const {
  return Access::values<std::uint64_t>(at(name), &JsonValue::unsigned_integer);
}

std::vector<std::uint64_t> JsonValue::digests(const std::string& name) const {
  return Access::values<std::uint64_t>(at(name), &JsonValue::digest);
}

JsonValue JsonValue::object(const std::string& name) const {
  JsonValue value = at(name);
  Access::members(value);
  return value;
}

std::vector<JsonValue> JsonValue::objects(const std::string& name) const {
  std::vector<JsonValue> list = at(name).items();
  for (const JsonValue& item : list) Access::members(item);
  return list;
}

std::string JsonValue::object_text(const std::string& name) const {
  return object(name).text();
}

bool JsonValue::boolean(const std::string& name, bool otherwise) const {
  const auto value = find(name);
  return value ? value->boolean() : otherwise;
}
std::uint64_t JsonValue::unsigned_integer(const std::string& name, std::uint64_t otherwise) const {
  const auto value = find(name);
  return value ? value->unsigned_integer() : otherwise;
}
std::string JsonValue::string(const std::string& name, const std::string& otherwise) const {
  const auto value = find(name);
  return value ? value->string() : otherwise;
}

void JsonValue::for_each_unsigned_integer(
    const std::function<void(const std::string&, std::uint64_t)>& use) const {
  for (const auto& [name, value] : Access::members(*this)) {
    if (value.is_number_unsigned())
      use(name, value.get<std::uint64_t>());
    else
      static_cast<void>(Access::member(*this, name, &value).unsigned_integer());  // throws the error
  }
}

std::string JsonValue::text() const {
  return Access::node(*this).dump();
}

std::string JsonValue::where() const {
  const std::string& origin = document_->source.origin;
  return path_.empty() ? origin : fmt::format("{}: {}", origin, path_);
}

Error JsonValue::error(const std::string& what, const std::string& context) const {
  return Error(ErrorKind::input, fmt::format("{}: {}", where(), what),
               context.empty() ? document_->source.remedy : context);
}

}  // namespace dt
