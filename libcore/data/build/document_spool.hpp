#pragma once
// The spooled documents of all ranges in the order of the shards, in bounded memory.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/io/files.hpp"
#include "data/build/file_tokens.hpp"
#include "data/build/spool_part.hpp"

namespace dt::data {

struct SpooledDocument {
  std::uint64_t tokens = 0;
  std::uint64_t digest = 0;  // digest of the tokens
  FileTokens run;            // tokens on disk
};

/// Merges all parts of the spool. Segments are sorted by key, so merging reads each from front to
/// back. All parts are open at the same time.
class DocumentSpool {
 public:
  /// Opens the parts of ranges 0 to num_ranges - 1 in `folder`. `token_bytes` is the size of a
  /// token.
  /// Errors: from all calls, environment; input for a damaged part.
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
      const std::function<void(const SpoolPart&, const SpoolEntry&, std::uint64_t number)>& document) const;

  std::size_t token_bytes_;
  std::vector<SpoolPart> parts_;
  std::vector<std::uint64_t> first_numbers_;  // number of each part's first document among all
  std::uint64_t num_documents_ = 0;
  std::uint64_t num_tokens_ = 0;
  bool has_targets_ = false;
  InputIssues issues_;
  FilteredDocuments filtered_;
  SeenRoles roles_;
  std::vector<bool> is_duplicate_;  // by document number; empty if duplicates were not sought
};

}  // namespace dt::data
