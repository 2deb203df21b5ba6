#pragma once
// Measures the links between every two ranks, and chooses the order of the measurements.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/time_limit.hpp"

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

/// A link, measured by send_receive between two ranks, so both ways at once. Times are the slower
/// rank's.
struct Link {
  Pair pair{};
  bool is_within_host = false;
  std::int64_t small_bytes = 0, bytes = 0;  // each way
  double latency_s = 0;                     // time of the small message
  double seconds = 0;                       // time of the large message
  std::optional<std::int64_t> wrong{};      // wrong elements on both ranks
  RelativeRate standing{};  // by gb_s(), among links within hosts or among those between hosts

  /// Returns the bandwidth each way.
  double gb_s() const { return static_cast<double>(bytes) / seconds * 1e-9; }
};

struct LinkSettings {
  Problem small, large;  // send_receive of two ranks
  MeasureSettings measure;
  double slow_below = 0;  // fraction of the median
};

/// Measures every pair of ranks. Returns the links in order, the same on all ranks. Pairs that
/// share no host are measured at once (rounds_of_pairs()), so that no pair competes for a host's
/// network card or bus. Pairs may still share switches of the network, which can make a good link
/// seem slow. A link that seems slow is therefore measured again while all other ranks wait, and
/// the better time counts. Calls limit.begin() for each round.
/// Collective: all ranks call it.
std::vector<Link> measure_links(comm::Communicator& group, Backend& backend, const LinkSettings& settings,
                                const std::vector<std::string>& host_by_rank, Workspace& workspace,
                                DeadlineTimer& limit);

}  // namespace dt::bench
