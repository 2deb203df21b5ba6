#pragma once
// The documents of a dataset in their final order, in bounded memory: merged from the spool, without
// duplicates, assigned to splits.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/io/paths.hpp"
#include "data/build/input_findings.hpp"
#include "data/build/spool_file.hpp"

namespace dt::data {

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

}  // namespace dt::data
