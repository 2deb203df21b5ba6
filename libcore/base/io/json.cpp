#include "base/io/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/numeric/digest.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

using Json = nlohmann::ordered_json;
using Members = Json::object_t::Container;  // a vector

/// Positions of an object's members in the order of their names.
using Order = std::vector<std::uint32_t>;

constexpr const char* no_object = "it is not a JSON object";

/// Members of objects up to this size are compared one by one.
constexpr std::size_t small_object = 16;

/// Returns the name that two members of a small object have, or null.
const std::string* find_twice_in_small(const Members& members) {
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[j].first == members[i].first) return &members[i].first;
    }
  }
  return nullptr;
}

Order order_of(const Members& members) {
  Order order(members.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return members[a].first < members[b].first; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

const std::string* find_twice(const Members& members, const Order& order) {
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i - 1]].first == members[order[i]].first) return &members[order[i]].first;
  }
  return nullptr;
}

/// Returns the name of the value at a path, for errors.
std::string name_of(const std::string& path) {
  return path.empty() ? "it" : fmt::format("member '{}'", path);
}

/// Builds a text's tree from parser events. The library's own builder looks up each member among
/// the earlier ones.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const JsonSource& source) : text_(text), source_(source) {}

  Json take_root() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& digits) {
    if (digits.size() > max_json_number_length) throw long_number(digits.size());
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!source_.nul_in_names && name.find('\0') != name.npos) throw error_here("has a name with NUL in it");
    open_.back()->get_ref<Json::object_t&>().emplace_back(std::move(name), nullptr);
    return true;
  }

  bool end_object() {
    const Members& members = open_.back()->get_ref<const Json::object_t&>();
    const std::string* twice = members.size() <= small_object ? find_twice_in_small(members)
                                                              : find_twice(members, order_of(members));
    close();
    if (twice != nullptr) throw error_here(fmt::format("has the member '{}' twice", *twice));
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last, const nlohmann::detail::exception& error) {
    constexpr int number_out_of_range = 406;
    if (error.id == number_out_of_range && last.size() > max_json_number_length)
      throw long_number(last.size());
    throw Error(
        ErrorKind::input,
        fmt::format("{}: line {} {}", source_.origin, line_at(text_, position),
                    error.id == number_out_of_range ? "has a number beyond all bounds" : "is not valid JSON"),
        source_.remedy);
  }

 private:
  /// Puts a value in its place and returns it.
  Json& put(Json&& value) {
    if (++num_values_ > max_json_values)
      throw error_here(fmt::format("exceeds the {} values that a file may have", max_json_values));
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_array()) return parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    return parent.get_ref<Json::object_t&>().back().second = std::move(value);
  }

  bool add(Json&& value) {
    put(std::move(value));
    return true;
  }

  bool open(Json&& value) {
    if (open_.size() == max_json_depth)
      throw Error(ErrorKind::input,
                  fmt::format("{}: it nests more than {} levels deep", source_.origin, max_json_depth),
                  source_.remedy);
    open_.push_back(&put(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Error long_number(std::size_t length) const {
    return error_here(
        fmt::format("is a number of {} characters; expected: at most {}", length, max_json_number_length));
  }

  /// Returns an error about the value that is being read.
  Error error_here(const std::string& what) const {
    std::string path;
    for (const Json* parent : open_) {
      if (parent->is_array())
        path += fmt::format("[{}]", parent->size());
      else if (!parent->empty())
        path += (path.empty() ? "" : ".") + parent->get_ref<const Json::object_t&>().back().first;
    }
    return Error(ErrorKind::input, fmt::format("{}: {} {}", source_.origin, name_of(path), what),
                 source_.remedy);
  }

  std::string_view text_;
  const JsonSource& source_;
  Json root_;
  std::vector<Json*> open_;  // objects and lists around the present value, outermost first
  std::size_t num_values_ = 0;
};

void build(TreeBuilder& builder, std::string_view text) {
  Json::sax_parse(text.begin(), text.end(), &builder);
}

}  // namespace

Json parse_json(std::string_view text, const JsonSource& source) {
  TreeBuilder builder(text, source);
  build(builder, text);
  return builder.take_root();
}

Json parse_json_object(std::string_view text, const JsonSource& source) {
  Json json = parse_json(text, source);
  if (json.is_object()) return json;
  throw Error(ErrorKind::input, fmt::format("{}: {}", source.origin, no_object), source.remedy);
}

struct JsonValue::Document {
  Document(JsonSource its_source, Json its_root) : source(std::move(its_source)), root(std::move(its_root)) {}

  JsonSource source;
  Json root;
  mutable std::mutex mutex;                                  // guards `orders`
  mutable std::unordered_map<const Members*, Order> orders;  // large objects in which a member was looked up

  const Order& order(const Members& members) const {
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = orders.try_emplace(&members);
    if (is_new) found->second = order_of(members);
    return found->second;
  }
};

/// Helpers of the methods that use the JSON library's types.
struct JsonValue::Access {
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
    throw wrong(value, fmt::format("is {}, not from {} to {}", number, least, most));
  }
};

JsonValue JsonValue::parse(std::string_view text, const JsonSource& source) {
  TreeBuilder builder(text, source);
  build(builder, text);
  auto document = std::make_shared<Document>(source, builder.take_root());
  const void* root = &document->root;
  return {std::move(document), root, ""};
}

JsonValue JsonValue::parse_object(std::string_view text, const JsonSource& source) {
  JsonValue root = parse(text, source);
  if (root.is_object()) return root;
  throw root.error(no_object);
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
  return Access::expect(*this, fits, "an integer of 64 bits").get<std::int64_t>();
}

std::uint64_t JsonValue::unsigned_integer() const {
  return Access::expect(*this, Access::node(*this).is_number_unsigned(), "a number counted from 0")
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
