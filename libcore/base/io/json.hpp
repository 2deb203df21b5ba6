#pragma once
// JSON, read within bounds. Every JSON text that dt reads passes through this file. parse_json()
// (json_tree.cpp) makes the JSON library's tree. JsonValue reads one with errors that name the file and
// the path in it, and hides the library.

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
inline constexpr std::size_t max_json_values = 50'000'000;   // per document, counting members and list items

/// The name of a text in errors, and the rules for its member names.
struct JsonSource {
  std::string origin;         // "FOLDER/config.json"
  std::string remedy = {};    // the errors' context
  bool nul_in_names = false;  // allows NUL in names, since vocabularies name tokens by their texts
};

/// Returns the text's value; objects keep the order of their members. Takes time linear in the
/// text, except for sorting members. Look-ups in the result are linear, so do not repeat them over
/// a file's own names.
/// Errors: input, naming the origin and the line or the member, if the text is no JSON, is deeper
/// than max_json_depth, or has more than max_json_values values. Input, too, for a number longer
/// than max_json_number_length or beyond a double's range, a duplicate member, or NUL in a name.
nlohmann::ordered_json parse_json(std::string_view text, const JsonSource& source);
/// Parses a text that must be an object.
nlohmann::ordered_json parse_json_object(std::string_view text, const JsonSource& source);

/// A value of a document. Copies share the document. Finds a member in logarithmic time.
/// Errors: input from every method, naming origin and path, if a member is missing, of another type
/// or out of range.
class JsonValue {
 public:
  /// Errors: as parse_json().
  static JsonValue parse(std::string_view text, const JsonSource& source);
  /// Parses a text that must be an object.
  static JsonValue parse_object(std::string_view text, const JsonSource& source);
  /// Parses a line that may be torn. Returns none where parse_object() would throw.
  static std::optional<JsonValue> parse_if_object(std::string_view text);

  bool is_null() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  /// Returns whether the value is the number 0 or 0.0.
  bool is_zero() const;
  bool boolean() const;
  std::int64_t integer() const;
  std::uint64_t unsigned_integer() const;
  double number() const;
  const std::string& string() const;
  /// Returns the value of a string of 16 hexadecimal digits.
  std::uint64_t digest() const;
  std::vector<JsonValue> items() const;

  bool has(const std::string& name) const;
  JsonValue at(const std::string& name) const;
  /// Returns a member, or none if it is missing or null.
  std::optional<JsonValue> find(const std::string& name) const;
  /// Returns the names of an object's members in the document's order.
  std::vector<std::string> names() const;

  std::int64_t integer(const std::string& name) const { return at(name).integer(); }
  std::int64_t integer(const std::string& name, std::int64_t least, std::int64_t most) const;
  std::uint64_t unsigned_integer(const std::string& name) const { return at(name).unsigned_integer(); }
  double number(const std::string& name) const { return at(name).number(); }
  double number(const std::string& name, double least, double most) const;
  std::string string(const std::string& name) const { return at(name).string(); }
  bool boolean(const std::string& name) const { return at(name).boolean(); }
  std::uint64_t digest(const std::string& name) const { return at(name).digest(); }
  std::vector<std::int64_t> integers(const std::string& name) const;
  std::vector<std::uint64_t> unsigned_integers(const std::string& name) const;
  std::vector<std::uint64_t> digests(const std::string& name) const;
  JsonValue object(const std::string& name) const;
  std::vector<JsonValue> objects(const std::string& name) const;
  /// Returns the object in the member as compact JSON text, in the document's order.
  std::string object_text(const std::string& name) const;

  /// Return `otherwise` if the member is missing or null.
  bool boolean(const std::string& name, bool otherwise) const;
  std::uint64_t unsigned_integer(const std::string& name, std::uint64_t otherwise) const;
  std::string string(const std::string& name, const std::string& otherwise) const;
  /// Calls `use` with each member of an object whose values are natural numbers.
  void for_each_unsigned_integer(
      const std::function<void(const std::string& name, std::uint64_t value)>& use) const;

  /// Returns compact JSON text.
  std::string text() const;
  /// Returns "FILE: model.type", the start of an error's text.
  std::string where() const;
  /// Returns the error "FILE: model.type: what". The default context is the source's remedy.
  Error error(const std::string& what, const std::string& context = {}) const;

 private:
  struct Document;
  struct Access;
  JsonValue(std::shared_ptr<const Document> document, const void* node, std::string path)
      : document_(std::move(document)), node_(node), path_(std::move(path)) {}

  std::shared_ptr<const Document> document_;
  const void* node_;  // points to a node of the JSON library within the document
  std::string path_;  // "" is the root
};

}  // namespace dt
