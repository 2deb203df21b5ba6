#pragma once
// The spooled documents of all ranges, in the order of the shards, in bounded memory.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/files.hpp"
#include "data/spool_part.hpp"
#include "data/token_run.hpp"

namespace dt::data {

struct SpooledDocument {
  std::uint64_t tokens = 0;
  std::uint64_t digest = 0;  // of its tokens
  TokenRun run;              // where they lie
};

/// Segments are in the order of their keys, so that merging them reads each from front to back. All parts are
/// open at a time.
class DocumentSpool {
 public:
  /// Of the parts in `folder`, which are those of ranges 0 to num_ranges - 1; `token_bytes`: of a token.
  /// Errors of all calls: environment; input, a damaged part.
  DocumentSpool(const fs::path& folder, std::uint64_t num_ranges, std::size_t token_bytes);

  /// Leaves out each document that has the same tokens as one before it. Spills into `folder`, which the
  /// caller removes.
  void deduplicate(const fs::path& folder);

  std::uint64_t num_documents() const { return num_documents_; }
  std::uint64_t num_tokens() const { return num_tokens_; }
  /// Whether there are tokens that are targets.
  bool has_targets() const { return has_targets_; }
  const Flaws& flaws() const { return flaws_; }
  const LeftOut& left_out() const { return left_out_; }
  const RolesMet& roles() const { return roles_; }

  /// Calls `document` with each document, in the final order.
  void visit(const std::function<void(const SpooledDocument&)>& document) const;

 private:
  void visit_all(
      const std::function<void(const SpoolPart&, const SpoolEntry&, std::uint64_t number)>& document) const;

  std::size_t token_bytes_;
  std::vector<SpoolPart> parts_;
  std::vector<std::uint64_t> first_numbers_;  // of each part's documents among all
  std::uint64_t num_documents_ = 0;
  std::uint64_t num_tokens_ = 0;
  bool has_targets_ = false;
  Flaws flaws_;
  LeftOut left_out_;
  RolesMet roles_;
  std::vector<bool> is_duplicate_;  // by number; empty where none is known
};

}  // namespace dt::data
