#pragma once
// Assigns documents to training or validation.

#include <cstdint>

#include "base/text/enum_names.hpp"
#include "data/build/document_spool.hpp"
#include "data/read/dataset_file.hpp"

namespace dt::data {

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
