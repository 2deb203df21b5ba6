#pragma once
// JSON files read with errors that name file and member; the JSON library stays behind it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dt::checkpoint {

/// An object of a JSON document. Copies share the document.
/// Errors of every method: input, naming origin and member: it is missing or of another type.
class JsonObject {
 public:
  /// Errors: input, naming origin and line, for text that is no JSON object; `remedy` becomes the error's
  /// context.
  static JsonObject parse(std::string_view text, const std::string& origin, const std::string& remedy);

  bool has(const std::string& name) const;
  std::vector<std::string> names() const;
  std::int64_t integer(const std::string& name) const;
  std::uint64_t natural(const std::string& name) const;
  double number(const std::string& name) const;
  std::string string(const std::string& name) const;
  bool boolean(const std::string& name) const;
  /// A string of 16 hexadecimal digits.
  std::uint64_t digest(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;
  std::vector<std::uint64_t> naturals(const std::string& name) const;
  std::vector<std::uint64_t> digests(const std::string& name) const;
  JsonObject object(const std::string& name) const;
  std::vector<JsonObject> objects(const std::string& name) const;
  /// The member, an object, as compact JSON text in the document's order.
  std::string object_text(const std::string& name) const;
  /// "ORIGIN: member 'pieces[3]'", to start an error's text with.
  std::string where() const;

 private:
  struct Document;
  struct Access;
  JsonObject(std::shared_ptr<const Document> document, const void* node, std::string path)
      : document_(std::move(document)), node_(node), path_(std::move(path)) {}

  std::shared_ptr<const Document> document_;
  const void* node_;  // of the JSON library's type, within the document
  std::string path_;  // "" is the root
};

}  // namespace dt::checkpoint
