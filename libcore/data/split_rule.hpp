#pragma once
// Assigns documents to training or validation.

#include <cstdint>

#include "data/document_spool.hpp"
#include "data/split.hpp"

namespace dt::data {

enum class SplitBy { order, digest };

/// The rule. It is applied to the documents one by one, in the final order.
class SplitRule {
 public:
  /// By order, the last max(1, round(f · D)) of D documents validate, never all of them. Of a
  /// single document its last ⌈f · tokens⌉ tokens validate. By digest, a document validates if its
  /// digest, with the seed, falls into that part of all digests. A document then never changes
  /// sides when others are added or removed, but possibly none validates. 0 ≤ f < 1.
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
