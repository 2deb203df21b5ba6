#pragma once
// JSON, read within bounds. Every JSON text that dt reads comes through here: parse_json() makes the JSON
// library's tree, JsonValue reads one with errors that name the file and the path in it, and keeps the
// library out of sight.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace dt {

inline constexpr std::size_t max_json_depth = 100;
inline constexpr std::size_t max_json_number_length = 1000;  // characters
inline constexpr std::size_t max_json_values = 50'000'000;   // of a document, members and items of lists

/// The name of a text in errors, and rules for its members' names.
struct JsonSource {
  std::string origin;         // "FOLDER/config.json"
  std::string remedy = {};    // the errors' context
  bool nul_in_names = false;  // vocabularies name tokens by their texts
};

/// Returns the text's value, objects' members in the text's order. Takes time in proportion to the text, but
/// for sorting members; look-ups in the result are linear, so repeat none over a file's own names.
/// Errors: input, naming the origin and the line or the member: no JSON, deeper than max_json_depth, more
/// values than max_json_values, a longer number than max_json_number_length or one beyond a double, a member
/// that is there twice, NUL in a name.
nlohmann::ordered_json parse_json(std::string_view text, const JsonSource& source);
/// Parses a text that must be an object.
nlohmann::ordered_json parse_json_object(std::string_view text, const JsonSource& source);

/// A value of a document. Copies share the document. A member is found in logarithmic time.
/// Errors of every method: input, naming origin and path: a member is missing, of another type or out of
/// range.
class JsonValue {
 public:
  /// Errors: those of parse_json().
  static JsonValue parse(std::string_view text, const JsonSource& source);
  /// Parses a text that must be an object.
  static JsonValue parse_object(std::string_view text, const JsonSource& source);
  /// Parses a line that may be torn: returns nothing where parse_object() would refuse it.
  static std::optional<JsonValue> parse_if_object(std::string_view text);

  bool is_null() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  /// Returns whether it is the number 0 or 0.0.
  bool is_zero() const;
  bool boolean() const;
  std::int64_t integer() const;
  std::uint64_t natural() const;
  double number() const;
  const std::string& string() const;
  /// A string of 16 hexadecimal digits.
  std::uint64_t digest() const;
  std::vector<JsonValue> items() const;

  bool has(const std::string& name) const;
  JsonValue at(const std::string& name) const;
  /// Nothing where the member is missing or null.
  std::optional<JsonValue> find(const std::string& name) const;
  /// Returns an object's names in the document's order.
  std::vector<std::string> names() const;

  std::int64_t integer(const std::string& name) const { return at(name).integer(); }
  std::int64_t integer(const std::string& name, std::int64_t least, std::int64_t most) const;
  std::uint64_t natural(const std::string& name) const { return at(name).natural(); }
  double number(const std::string& name) const { return at(name).number(); }
  double number(const std::string& name, double least, double most) const;
  std::string string(const std::string& name) const { return at(name).string(); }
  bool boolean(const std::string& name) const { return at(name).boolean(); }
  std::uint64_t digest(const std::string& name) const { return at(name).digest(); }
  std::vector<std::int64_t> integers(const std::string& name) const;
  std::vector<std::uint64_t> naturals(const std::string& name) const;
  std::vector<std::uint64_t> digests(const std::string& name) const;
  JsonValue object(const std::string& name) const;
  std::vector<JsonValue> objects(const std::string& name) const;
  /// The member, an object, as compact JSON text in the document's order.
  std::string object_text(const std::string& name) const;

  /// Return `otherwise` where the member is missing or null.
  bool boolean(const std::string& name, bool otherwise) const;
  std::uint64_t natural(const std::string& name, std::uint64_t otherwise) const;
  std::string string(const std::string& name, const std::string& otherwise) const;
  /// The members of an object whose values are numbers counted from 0.
  void each_natural(const std::function<void(const std::string& name, std::uint64_t value)>& use) const;

  /// Compact JSON text.
  std::string text() const;
  /// "FILE: model.type", to start an error's text with.
  std::string where() const;
  /// "FILE: model.type: what"; the context is the source's remedy where none is given.
  Error error(const std::string& what, const std::string& context = {}) const;

 private:
  struct Document;
  struct Access;
  JsonValue(std::shared_ptr<const Document> document, const void* node, std::string path)
      : document_(std::move(document)), node_(node), path_(std::move(path)) {}

  std::shared_ptr<const Document> document_;
  const void* node_;  // of the JSON library's type, within the document
  std::string path_;  // "" is the root
};

}  // namespace dt
