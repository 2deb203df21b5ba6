#pragma once
// The documents of a dataset in their final order, in bounded memory: merged from the spool, without
// duplicates, assigned to splits.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/enum_names.hpp"
#include "data/build/spool_file.hpp"
#include "data/read/dataset_file.hpp"

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

/// A document of the spool.
struct SpooledDocument {
  std::uint64_t tokens = 0;
  std::uint64_t digest = 0;  // digest of the tokens
  FileTokens run;            // tokens on disk
};

/// Merges all files of the spool. Segments are sorted by key, so merging reads each from front to
/// back. All files are open at the same time.
class DocumentSpool {
 public:
  /// Opens the files of ranges 0 to num_ranges - 1 in `folder`. `token_bytes` is the size of a
  /// token.
  /// Errors: from all calls, environment; input for a damaged file.
  DocumentSpool(const fs::path& folder, std::uint64_t num_ranges, std::size_t token_bytes);

  /// Leaves out each document whose tokens equal those of an earlier one. Spills into `folder`,
  /// which the caller removes.
  void deduplicate(const fs::path& folder);

  std::uint64_t num_documents() const { return num_documents_; }
  std::uint64_t num_tokens() const { return num_tokens_; }
  /// Returns whether any token is a target.
  bool has_targets() const { return has_targets_; }
  const InputIssues& issues() const { return issues_; }
  const FilteredDocuments& filtered() const { return filtered_; }
  const SeenRoles& roles() const { return roles_; }

  /// Calls `document` with each document in the final order.
  void visit(const std::function<void(const SpooledDocument&)>& document) const;

 private:
  void visit_all(
      const std::function<void(const SpoolFile&, const SpoolEntry&, std::uint64_t number)>& document) const;

  std::size_t token_bytes_;
  std::vector<SpoolFile> files_;
  std::vector<std::uint64_t> first_numbers_;  // number of each file's first document among all
  std::uint64_t num_documents_ = 0;
  std::uint64_t num_tokens_ = 0;
  bool has_targets_ = false;
  InputIssues issues_;
  FilteredDocuments filtered_;
  SeenRoles roles_;
  std::vector<bool> is_duplicate_;  // by document number; empty if duplicates were not sought
};

/// Finds documents that repeat an earlier one, among any number of them in bounded memory. Distributes
/// digests to files by their leading bits, so that equal digests are in the same file. Memory: about 6 MiB,
/// then one bit per document and at most a few hundredths of all digests, 24 bytes each.
class DuplicateFinder {
 public:
  /// Writes into `folder`, which the caller removes.
  /// Errors: environment, from all calls.
  explicit DuplicateFinder(fs::path folder);
  /// Adds the digest of document `number`. Documents may come in any order.
  void add(const Digester128::Value& digest, std::uint64_t number);
  /// Returns, for each of `num_documents`, whether a document with a lower number has the same
  /// digest. Call it once, at the end.
  std::vector<bool> find(std::uint64_t num_documents);

 private:
  struct Entry {
    Digester128::Value digest;
    std::uint64_t number;
  };
  fs::path path(std::size_t bucket) const;
  static void mark_and_leave_out(std::vector<Entry>& entries, std::vector<bool>& is_duplicate);
  void find_in(std::size_t bucket, std::vector<bool>& is_duplicate);

  fs::path folder_;
  std::vector<std::vector<Entry>> buffers_;  // one per file
};

/// Rule by which a document is for training or for validation.
enum class SplitBy { order, digest };
constexpr auto enum_names(SplitBy) {
  return std::to_array<EnumName<SplitBy>>({{"order", SplitBy::order}, {"digest", SplitBy::digest}});
}

/// Decides the split of each document. The caller passes the documents one by one, in the final
/// order.
class SplitRule {
 public:
  /// f is `val_fraction`, with 0 ≤ f < 1. By order, the last max(1, round(f · D)) of D documents
  /// validate, never all of them. Of a single document its last ⌈f · tokens⌉ tokens validate. By
  /// digest, a document validates if its digest, with the seed, falls into the fraction f of all
  /// digests. Adding or removing other documents then never changes a document's split, but
  /// possibly none validates.
  SplitRule(SplitBy by, double val_fraction, std::uint64_t seed, const DocumentSpool& spool);
  Split next(const SpooledDocument& document);
  /// Returns the validation tokens at the end of a single document.
  std::uint64_t validation_tail() const { return tail_tokens_; }

 private:
  SplitBy by_;
  std::uint64_t seed_;
  std::uint64_t train_documents_ = 0;  // by order: number of leading documents that train
  std::uint64_t tail_tokens_ = 0;
  std::uint64_t first_train_digest_ = 0;  // by digest: smaller digests validate
  std::uint64_t num_asked_ = 0;
};

}  // namespace dt::data
