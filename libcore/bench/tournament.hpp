#pragma once
// Decides in which order pairs of ranks are measured.

#include <string>
#include <vector>

namespace dt::bench {

/// Two ranks, the lower first.
struct Pair {
  int a, b;
  auto operator<=>(const Pair&) const = default;
};
using PairRound = std::vector<Pair>;

/// Returns rounds in which every two of n players meet once. In each round each player meets
/// another; if n is odd, one player rests.
/// Source: the circle method of round-robin tournaments.
std::vector<PairRound> tournament(int n);

/// Returns rounds in which every pair of ranks meets once. No host has two pairs in a round, so
/// that pairs that meet at the same time do not share a host's network card or bus. First come the
/// pairs within hosts, one of each host at a time. Then hosts meet as in a tournament, and two
/// hosts that meet have one pair of ranks at a time. With R ranks on each of H hosts, the number of
/// rounds is R (R − 1) / 2 + (H − 1) R² if H is even. If H is odd, it is R (R − 1) / 2 + H R².
std::vector<PairRound> rounds_of_pairs(const std::vector<std::string>& host_by_rank);

}  // namespace dt::bench
