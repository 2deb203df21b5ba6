// The JSON library's tree of a text, within bounds.

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/io/json.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

using Json = nlohmann::ordered_json;
using Members = Json::object_t::Container;  // a vector

/// Returns the name that two members of a small object have, or null.
const std::string* find_twice_in_small(const Members& members) {
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[j].first == members[i].first) return &members[i].first;
    }
  }
  return nullptr;
}

/// Returns the name that two members of an object have, or null.
const std::string* find_twice(const Members& members) {
  constexpr std::size_t small_object = 16;
  if (members.size() <= small_object) return find_twice_in_small(members);
  std::vector<const std::string*> names;
  names.reserve(members.size());
  for (const auto& [name, value] : members) names.push_back(&name);
  const auto by_text = [](const std::string* name) -> const std::string& { return *name; };
  if (!std::ranges::is_sorted(names, {}, by_text)) std::ranges::sort(names, {}, by_text);
  const auto twice = std::ranges::adjacent_find(names, {}, by_text);
  return twice == names.end() ? nullptr : *twice;
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
    if (!source_.nul_in_names && name.find('\0') != name.npos)
      throw error_here("has a member name that contains NUL");
    open_.back()->get_ref<Json::object_t&>().emplace_back(std::move(name), nullptr);
    return true;
  }

  bool end_object() {
    const Members& members = open_.back()->get_ref<const Json::object_t&>();
    const std::string* twice = find_twice(members);
    close();
    if (twice != nullptr) throw error_here(fmt::format("has the member '{}' twice", *twice));
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last, const nlohmann::detail::exception& error) {
    constexpr int number_out_of_range = 406;
    if (error.id == number_out_of_range && last.size() > max_json_number_length)
      throw long_number(last.size());
    throw Error(ErrorKind::input,
                fmt::format("{}: line {} {}", source_.origin, line_at(text_, position),
                            error.id == number_out_of_range ? "has a number that is out of range"
                                                            : "is not valid JSON"),
                source_.remedy);
  }

 private:
  /// Puts a value in its place and returns it.
  Json& put(Json&& value) {
    if (++num_values_ > max_json_values)
      throw error_here(fmt::format("exceeds the limit of {} values per file", max_json_values));
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
        fmt::format("is a number of {} characters; the limit is {}", length, max_json_number_length));
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
    const std::string name = path.empty() ? "it" : fmt::format("member '{}'", path);
    return Error(ErrorKind::input, fmt::format("{}: {} {}", source_.origin, name, what), source_.remedy);
  }

  std::string_view text_;
  const JsonSource& source_;
  Json root_;
  std::vector<Json*> open_;  // objects and lists around the present value, outermost first
  std::size_t num_values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, const JsonSource& source) {
  TreeBuilder builder(text, source);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take_root();
}

Json parse_json_object(std::string_view text, const JsonSource& source) {
  Json json = parse_json(text, source);
  if (json.is_object()) return json;
  throw Error(ErrorKind::input, source.origin + ": it is not a JSON object", source.remedy);
}

}  // namespace dt
