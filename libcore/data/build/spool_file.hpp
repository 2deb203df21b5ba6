#pragma once
// A file of the spool: the encoded documents of one range of the inputs. It exists only when complete.
//
// The file consists of segments, JSON, and a trailer. A segment is the tokens of some documents and
// then an index entry for each, both in the order of the entries' keys. The JSON lists the segments
// and the counts of the range. The trailer is two words, the JSON's length and digest. A document
// longer than a segment forms a segment of its own. Only the program that wrote the file reads it,
// on a machine of the same kind.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "data/build/input_findings.hpp"

namespace dt::data {

/// Tokens on disk, named by file and range rather than held in memory.
struct FileTokens {
  std::shared_ptr<const File> file;
  std::uint64_t offset;  // in bytes
  std::uint64_t bytes;

  FileTokens prefix(std::uint64_t count) const { return {file, offset, count}; }
  FileTokens suffix(std::uint64_t begin) const { return {file, offset + begin, bytes - begin}; }
  bool is_followed_by(const FileTokens& next) const {
    return file == next.file && offset + bytes == next.offset;
  }
};

struct SpoolEntry {
  std::uint64_t key;     // sort key of the documents
  std::uint64_t number;  // number of the document within its range
  std::uint64_t offset;  // in the file, in bytes
  std::uint64_t tokens;
  Digester128::Value digest;  // digest of the tokens
};

struct SpoolSegment {
  std::uint64_t index_offset = 0;  // in the file, in bytes
  std::uint64_t documents = 0;
};

/// The results of reading a range.
struct RangeSummary {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  bool has_targets = false;  // some tokens are targets
  InputIssues issues;
  FilteredDocuments filtered;
  SeenRoles roles;
};

/// Returns the path of a range's file, such as "range-00012.spool".
fs::path spool_file_path(const fs::path& folder, std::uint64_t range);

/// A file of the spool opened for reading.
/// Errors: input, naming the file, if it is none or is damaged at its end.
class SpoolFile {
 public:
  explicit SpoolFile(const fs::path& path);
  const RangeSummary& summary() const { return summary_; }
  const std::vector<SpoolSegment>& segments() const { return segments_; }
  const std::shared_ptr<const File>& file() const { return file_; }
  /// Returns entries [first, first + count) of a segment.
  std::vector<SpoolEntry> entries(const SpoolSegment& segment, std::uint64_t first,
                                  std::uint64_t count) const;

 private:
  std::shared_ptr<const File> file_;
  RangeSummary summary_;
  std::vector<SpoolSegment> segments_;
};

/// Writes a file of the spool from front to back.
/// Errors: environment, from all calls.
class SpoolFileWriter {
 public:
  explicit SpoolFileWriter(const fs::path& path);
  /// Writes tokens of a document that has not ended. Its entry follows in a later segment.
  void write_tokens(std::span<const std::byte> tokens);
  void write_entries(std::span<const SpoolEntry> entries);
  /// Syncs the file and gives it its name, unless the name exists.
  void finish(const RangeSummary& summary);

 private:
  AtomicFile atomic_;
  File file_;
  std::uint64_t bytes_ = 0;
  std::vector<SpoolSegment> segments_;
};

}  // namespace dt::data
