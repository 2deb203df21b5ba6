#pragma once
// Who is to blame for an operation that does not end, told from what the other ranks left in `flight/`.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/flight.hpp"

namespace dt::comm {

/// The operation that a rank waits for.
struct StuckOperation {
  OperationRecord record;
  GroupRecord group;
  int rank = 0;  // global, of who waits
};

/// Another rank, looked at twice with some beats between, so that the clocks of hosts do not matter.
struct Sighting {
  HeartbeatReading before;
  HeartbeatReading after;
  std::optional<Evidence> evidence = {};  // of a silent one that wrote why it ended

  /// Its heartbeat stands still or is not there: it is stopped, dead, or its node is gone.
  bool is_silent() const;
  /// The newest heartbeat that was read.
  const Heartbeat* last_heartbeat() const;
};

/// The global ranks that take part in the operation, but for the one that waits.
std::vector<int> ranks_to_suspect(const StuckOperation& operation);

/// "all_reduce 57 of group world (step 12, 4.0 MiB) has not ended in 60 s: rank 3 on n4 (process 123) is
/// silent, last in all_reduce 56 of step 12". Causes come before consequences: silent ranks, those in another
/// operation at its place, those that have not entered it and are in none, those that have not and are in
/// another. Where no rank that takes part is silent, silent ranks outside of the group are named too, since
/// one that takes part may wait for them. Ranks that are not in `sightings` are passed over.
std::string diagnose(const StuckOperation& operation, double timeout_s,
                     const std::map<int, Sighting>& sightings);

}  // namespace dt::comm
