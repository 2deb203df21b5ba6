#pragma once
// Philox4x32 with 10 rounds: a counter-based generator of random words, for hosts and GPUs.
// Source: Salmon et al. 2011, section 3.3.

#include <array>
#include <cstdint>

namespace dt {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxWords = std::array<std::uint32_t, 4>;

constexpr int philox_rounds = 10;
constexpr std::uint32_t philox_multiplier_0 = 0xD2511F53, philox_multiplier_1 = 0xCD9E8D57;

constexpr void philox_round(PhiloxWords& c, std::uint32_t key_0, std::uint32_t key_1) {
  const std::uint64_t product_0 = std::uint64_t{philox_multiplier_0} * c[0];
  const std::uint64_t product_1 = std::uint64_t{philox_multiplier_1} * c[2];
  c = {static_cast<std::uint32_t>(product_1 >> 32) ^ c[1] ^ key_0, static_cast<std::uint32_t>(product_1),
       static_cast<std::uint32_t>(product_0 >> 32) ^ c[3] ^ key_1, static_cast<std::uint32_t>(product_0)};
}

constexpr void advance_philox_key(PhiloxKey& key) {
  key[0] += 0x9E3779B9;
  key[1] += 0xBB67AE85;
}

/// Returns the four random words of a counter.
constexpr PhiloxWords philox(PhiloxWords counter, PhiloxKey key) {
  for (int round = 0; round < philox_rounds; ++round, advance_philox_key(key))
    philox_round(counter, key[0], key[1]);
  return counter;
}

}  // namespace dt
