#pragma once
// A part of the spool: what the documents of a range of the inputs became, in one file that is there when it
// is whole.
//
// The file: segments, each the tokens of some documents and then an index entry for each, both in the order
// of the entries' keys; then JSON that says where the segments lie and what there was to count; then two
// words, the JSON's length and digest. A document that is longer than a segment has its tokens before those
// of the next. It is read by the program that wrote it, on such a machine.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/digest.hpp"
#include "base/files.hpp"
#include "data/flaws.hpp"
#include "data/roles.hpp"

namespace dt::data {

struct SpoolEntry {
  std::uint64_t key;     // documents are ordered by it
  std::uint64_t number;  // of the document within its range
  std::uint64_t offset;  // in the file, in bytes
  std::uint64_t tokens;
  Digester128::Value digest;  // of the tokens
};

struct SpoolSegment {
  std::uint64_t index_offset = 0;  // in the file, in bytes
  std::uint64_t documents = 0;
};

/// What is known of a range when it has been read.
struct RangeSummary {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  bool has_targets = false;  // tokens that are
  Flaws flaws;
  LeftOut left_out;
  RolesMet roles;
};

/// "range-00012.spool"
fs::path spool_part_path(const fs::path& folder, std::uint64_t range);

/// Errors: input, naming the file, where it is no such part or damaged at its end.
class SpoolPart {
 public:
  explicit SpoolPart(const fs::path& path);
  const RangeSummary& summary() const { return summary_; }
  const std::vector<SpoolSegment>& segments() const { return segments_; }
  const std::shared_ptr<const File>& file() const { return file_; }
  /// Entries [first, first + count) of a segment.
  std::vector<SpoolEntry> entries(const SpoolSegment& segment, std::uint64_t first,
                                  std::uint64_t count) const;

 private:
  std::shared_ptr<const File> file_;
  RangeSummary summary_;
  std::vector<SpoolSegment> segments_;
};

/// Writes one, from front to back. Errors of all calls: environment.
class SpoolPartWriter {
 public:
  explicit SpoolPartWriter(const fs::path& path);
  /// Tokens of a document that has not ended; its entry comes in a later segment.
  void write_tokens(std::span<const std::byte> tokens);
  void write_entries(std::span<const SpoolEntry> entries);
  /// Syncs it and gives it its name, unless there is one.
  void finish(const RangeSummary& summary);

 private:
  AtomicFile atomic_;
  File file_;
  std::uint64_t bytes_ = 0;
  std::vector<SpoolSegment> segments_;
};

}  // namespace dt::data
