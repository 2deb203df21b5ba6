#include "data/read/token_tally.hpp"

#include <cstring>

#include "data/target_flag.hpp"

namespace dt::data {

TokenTally::TokenTally(bool masks_targets) {
  if (masks_targets) targets_ = 0;
}

void TokenTally::update(std::span<const std::byte> tokens) {
  digester_.update(tokens);
  if (!targets_) return;
  std::uint64_t targets = 0;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= tokens.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t stored = 0;
    std::memcpy(&stored, tokens.data() + at, sizeof(stored));
    targets += is_target(stored) ? 1 : 0;
  }
  *targets_ += targets;
}

}  // namespace dt::data
