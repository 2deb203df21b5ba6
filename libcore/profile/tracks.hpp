#pragma once
// Represents a step as rows of spans that took time.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profile/step_profile.hpp"

namespace dt::profile {

struct TraceEvent {
  std::string name;
  std::string kind;
  Interval time;
  std::vector<std::pair<std::string, std::int64_t>> details{};
};

/// Spans in the order of their starts. No span begins before the end of the one before.
struct Track {
  std::string name;
  std::vector<TraceEvent> events;
};

/// Returns the rows of a step. The first is the step itself. Others show the host's computations
/// or, for a device, what it enqueues; the device's computations; the host's waits; and each
/// group's operations. Spans that overlap have further rows, "data 2".
std::vector<Track> build_tracks(const StepProfile& profile);

}  // namespace dt::profile
