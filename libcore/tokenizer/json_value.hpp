#pragma once
// JSON as tokenizers' files have it, read with errors that name the file and the path in it; the JSON library
// stays behind it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace dt::tokenizer {

/// A value of a document. Copies share the document. Errors of every method: input, naming file and path,
/// where something is missing or of another type.
class JsonValue {
 public:
  /// Errors: input, naming `origin` and the line, for text that is no JSON.
  static JsonValue parse(std::string_view text, const std::string& origin);

  bool is_null() const;
  bool is_string() const;
  bool is_array() const;
  /// Returns whether it is the number 0 or 0.0.
  bool is_zero() const;
  bool boolean() const;
  std::uint64_t natural() const;
  const std::string& string() const;
  std::vector<JsonValue> items() const;

  bool is_object() const;
  JsonValue at(const std::string& name) const;
  /// Nothing where the member is missing or null.
  std::optional<JsonValue> find(const std::string& name) const;
  bool boolean(const std::string& name, bool otherwise) const;
  std::uint64_t natural(const std::string& name, std::uint64_t otherwise) const;
  std::string string(const std::string& name, const std::string& otherwise) const;
  /// The members of an object whose values are numbers.
  void each_natural(const std::function<void(const std::string& name, std::uint64_t value)>& use) const;

  /// "FILE: model.type: what".
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

}  // namespace dt::tokenizer
