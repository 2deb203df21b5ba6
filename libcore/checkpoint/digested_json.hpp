#pragma once
// The common form of manifest.json and part-NNNNN.json: a JSON object whose last member is the
// digest of all bytes before it. Both have the members `files` and `pieces`. See FORMATS.md.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/json.hpp"
#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// A file format's name and newest version, and the advice for a damaged file.
struct DigestedJsonFormat {
  const char* name;  // "dt-checkpoint"
  std::int64_t newest_version;
  const char* remedy;
};

/// Composes the text of such an object, member by member.
class DigestedJsonWriter {
 public:
  /// Begins the object with `format` and `version`.
  DigestedJsonWriter(const DigestedJsonFormat& format, std::int64_t version);
  void text(const char* name, const std::string& value);
  void integer(const char* name, std::int64_t value);
  /// `json` is the member's value as JSON text.
  void json(const char* name, const std::string& json);
  /// Ends the object with `files` and `pieces`, each item on its own line, and the digest.
  std::string finish(const std::vector<StoredFile>& files, const std::vector<StoredPiece>& pieces);
  /// Ends the object with `files`, the file of pieces as `pieces`, and the digest.
  std::string finish(const std::vector<StoredFile>& files, const StoredFile& index);

 private:
  std::string finish();

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
/// Parses `files` and `pieces` of a manifest with an index. Appends to `files`, and returns the index.
/// Errors: input, naming the member, for names that would not lie in the same folder, or are there twice.
StoredFile parse_files_and_index(const JsonValue& root, std::vector<StoredFile>& files);

/// Upper bound of file sizes: sums of two, and eight times one, do not overflow.
inline constexpr std::uint64_t max_stored_bytes = std::uint64_t{1} << 56;
inline constexpr std::size_t max_tensor_dims = 8;
/// Returns whether the extents are a tensor's shape: few, none negative, and their product does not overflow,
/// even without the extents that are 0.
bool is_tensor_shape(std::span<const std::int64_t> extents);

}  // namespace dt::checkpoint
