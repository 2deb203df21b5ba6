#pragma once
// Which documents train and which validate.

#include <cstdint>

#include "data/document_spool.hpp"
#include "data/split.hpp"

namespace dt::data {

enum class SplitBy { order, digest };

/// Asked document by document, in the final order.
class SplitRule {
 public:
  /// By order: the last max(1, round(f · D)) of D documents validate, never all of them; of a single document
  /// its last ⌈f · tokens⌉ tokens. By digest: each whose digest, with the seed, falls into that part of all
  /// digests, so that none changes sides when others come or go; none may. 0 ≤ f < 1.
  SplitRule(SplitBy by, double val_fraction, std::uint64_t seed, const DocumentSpool& spool);
  Split next(const SpooledDocument& document);
  /// Of a single document, at its end.
  std::uint64_t validation_tail() const { return tail_tokens_; }

 private:
  SplitBy by_;
  std::uint64_t seed_;
  std::uint64_t train_documents_ = 0;  // by order: the first so many
  std::uint64_t tail_tokens_ = 0;
  std::uint64_t first_train_digest_ = 0;  // by digest: those below validate
  std::uint64_t num_asked_ = 0;
};

}  // namespace dt::data
