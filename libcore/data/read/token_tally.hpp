#pragma once
// Totals over a split's tokens.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/numeric/digest.hpp"

namespace dt::data {

/// Digests stored tokens in order. Counts the targets if some tokens are not targets.
class TokenTally {
 public:
  explicit TokenTally(bool masks_targets);
  TokenTally(const TokenTally&) = delete;
  /// Adds whole tokens in the format of shards.
  void update(std::span<const std::byte> tokens);
  std::uint64_t digest() const { return digester_.value(); }
  /// Returns the number of targets, or none if all tokens are targets.
  std::optional<std::uint64_t> targets() const { return targets_; }

 private:
  Digester digester_;
  std::optional<std::uint64_t> targets_;
};

}  // namespace dt::data
