#pragma once
// The common form of manifest.json and part-NNNNN.json: a JSON object whose last member is the
// digest of all bytes before it. Both have the members `files` and `pieces`. See FORMATS.md.

#include <string>
#include <string_view>
#include <vector>

#include "base/io/json.hpp"
#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// A file format's name and version, and the advice for a damaged file.
struct DigestedJsonFormat {
  const char* name;  // "dt-checkpoint"
  std::int64_t version;
  const char* remedy;
};

/// Composes the text of such an object, member by member.
class DigestedJsonWriter {
 public:
  /// Begins the object with `format` and `version`.
  explicit DigestedJsonWriter(const DigestedJsonFormat& format);
  void text(const char* name, const std::string& value);
  void integer(const char* name, std::int64_t value);
  /// `json` is the member's value as JSON text.
  void json(const char* name, const std::string& json);
  /// Ends the object with `files` and `pieces`, each item on its own line, and the digest.
  std::string finish(const std::vector<StoredFile>& files, const std::vector<StoredPiece>& pieces);

 private:
  std::string text_ = "{\n";
};

/// Returns whether a text of any version ends with the digest of the bytes before it.
bool has_valid_digest(std::string_view text);
/// Length of the end of every such text: `"digest": "`, 16 digits, `"` and a newline, `}` and a
/// newline.
inline constexpr std::size_t digest_tail_bytes = 31;
bool ends_with_digest(std::string_view text);

/// Parses such a text and checks its digest.
/// Errors: input, naming `origin`: no JSON object, another format or version, a digest that
/// differs.
JsonValue parse_digested_json(std::string_view text, const std::string& origin,
                              const DigestedJsonFormat& format);

/// Parses the members `files` and `pieces`, and appends their items to the two vectors.
/// Errors: input, naming the member: a piece outside its tensor or its file, digests that are not
/// one per block, a file that would not lie in the same folder.
void parse_files_and_pieces(const JsonValue& root, const DigestedJsonFormat& format,
                            std::vector<StoredFile>& files, std::vector<StoredPiece>& pieces);

}  // namespace dt::checkpoint
