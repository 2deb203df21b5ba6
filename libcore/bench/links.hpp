#pragma once
// What passes between every two ranks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/slow.hpp"
#include "bench/time_limit.hpp"
#include "bench/tournament.hpp"

namespace dt::bench {

/// send_receive between two ranks, so both ways at once. Times are the slower rank's.
struct Link {
  Pair pair{};
  bool is_within_host = false;
  std::int64_t small_bytes = 0, bytes = 0;  // each way
  double latency_s = 0;                     // of the small one
  double seconds = 0;                       // of the large one
  std::optional<std::int64_t> wrong{};      // elements on both
  Standing standing{};                      // by gb_s(), among links within hosts, or between them

  /// Each way.
  double gb_s() const { return static_cast<double>(bytes) / seconds * 1e-9; }
};

struct LinkSettings {
  Problem small, large;  // of two ranks, by send_receive
  MeasureSettings measure;
  double slow_below = 0;  // what fraction of the median
};

/// Called by all ranks together: every pair, in order, the same on all ranks. Pairs that share no host are
/// measured at once (rounds_of_pairs), so that what hosts have one of is one pair's. What they share beyond
/// that, switches, is not to be blamed on a pair: one that seems slow is measured once more while all others
/// wait, and the better time counts. `limit` is begun with each round.
std::vector<Link> measure_links(comm::Communicator& group, Backend& backend, const LinkSettings& settings,
                                const std::vector<std::string>& host_by_rank, Workspace& workspace,
                                TimeLimit& limit);

}  // namespace dt::bench
