#pragma once
// What a split's tokens add up to.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/digest.hpp"

namespace dt::data {

/// Digests stored tokens as they come in order and, where some are no targets, counts those that are.
class TokenTally {
 public:
  explicit TokenTally(bool masks_targets);
  TokenTally(const TokenTally&) = delete;
  /// Whole tokens, as shards store them.
  void update(std::span<const std::byte> tokens);
  std::uint64_t digest() const { return digester_.value(); }
  /// Nothing where all tokens are targets.
  std::optional<std::uint64_t> targets() const { return targets_; }

 private:
  Digester digester_;
  std::optional<std::uint64_t> targets_;
};

}  // namespace dt::data
