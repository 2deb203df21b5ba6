#include "data/build/split_rule.hpp"

#include <algorithm>
#include <cmath>

#include "base/numeric/random.hpp"

namespace dt::data {

SplitRule::SplitRule(SplitBy by, double val_fraction, std::uint64_t seed, const DocumentSpool& spool)
    : by_(by), seed_(seed), train_documents_(spool.num_documents()) {
  if (val_fraction <= 0) return;
  const std::uint64_t documents = spool.num_documents();
  if (by == SplitBy::digest) {
    first_train_digest_ = static_cast<std::uint64_t>(std::ldexp(val_fraction, 64));
  } else if (documents == 1) {
    const std::uint64_t tokens = spool.num_tokens();
    const auto tail = static_cast<std::uint64_t>(std::ceil(val_fraction * static_cast<double>(tokens)));
    tail_tokens_ = std::min(tail, tokens - 1);
  } else {
    const auto rounded =
        static_cast<std::uint64_t>(std::llround(val_fraction * static_cast<double>(documents)));
    train_documents_ = documents - std::clamp<std::uint64_t>(rounded, 1, documents - 1);
  }
}

Split SplitRule::next(const SpooledDocument& document) {
  const bool validates = by_ == SplitBy::order
                             ? num_asked_++ >= train_documents_
                             : RandomField(seed_, "validation").bits(document.digest) < first_train_digest_;
  return validates ? Split::validation : Split::train;
}

}  // namespace dt::data
