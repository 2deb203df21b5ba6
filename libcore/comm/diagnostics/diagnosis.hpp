#pragma once
// Finds the ranks to blame for an operation that does not end, from the files that other ranks left in
// `flight/`.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/diagnostics/flight.hpp"

namespace dt::comm {

/// The operation that a rank waits for.
struct StuckOperation {
  OperationRecord record;
  GroupRecord group;
  int rank = 0;  // global number of the rank that waits
};

/// Another rank, looked at twice with some beats between, so that the clocks of hosts do not matter.
struct PeerObservation {
  HeartbeatReading before;
  HeartbeatReading after;
  std::optional<Evidence> evidence = {};  // left by a silent rank that wrote why it ended

  /// Returns whether the heartbeat stands still or is missing. The rank is then stopped or dead, or its
  /// node is gone.
  bool is_silent() const;
  /// Returns the newest heartbeat that was read, or null.
  const Heartbeat* last_heartbeat() const;
};

/// Returns the global ranks that take part in the operation, without the rank that waits.
std::vector<int> suspected_ranks(const StuckOperation& operation);

/// Returns a text that names the ranks to blame: "all_reduce 57 of group world (step 12, 4.0 MiB) has
/// not ended in 60 s: rank 3 on n4 (process 123) is silent, last in all_reduce 56 of step 12". Causes
/// come before consequences: silent ranks, ranks in another operation at its place, ranks that have not
/// entered it and are in none, ranks that have not entered it and are in another. If no rank that takes
/// part is silent, silent ranks outside of the group are named too, since a rank that takes part may
/// wait for them. Ranks that are not in `sightings` are skipped.
std::string diagnose(const StuckOperation& operation, double timeout_s,
                     const std::map<int, PeerObservation>& sightings);

}  // namespace dt::comm
