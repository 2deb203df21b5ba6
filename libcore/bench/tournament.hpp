#pragma once
// In which order ranks meet, two and two.

#include <string>
#include <vector>

namespace dt::bench {

/// Two ranks, the lower first.
struct Pair {
  int a, b;
  auto operator<=>(const Pair&) const = default;
};
using Round = std::vector<Pair>;

/// Every two of n once: in each round each meets another, but for one where n is odd. Source: the circle
/// method of round-robin tournaments.
std::vector<Round> tournament(int n);

/// Every pair of ranks once, in rounds of pairs that may meet at the same time without sharing what a host
/// has one of (network cards, switches of its bus): no host has two pairs in a round. First the pairs within
/// hosts, one of each host at a time; then hosts meet as in a tournament, and of each two that meet one pair
/// of ranks at a time. With R ranks on each of H hosts these are R (R − 1) / 2 + (H − 1) R² rounds, or H R²
/// where H is odd.
std::vector<Round> rounds_of_pairs(const std::vector<std::string>& host_by_rank);

}  // namespace dt::bench
