#include "profile/tracks.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

namespace dt::profile {

namespace {

/// Shorter exposures are left out: polls between kernels make thousands of them, too short to see.
constexpr double shortest_exposure_s = 1e-6;

TraceEvent span_of(const StepProfile& profile, const TracedAction& traced, const Interval& time) {
  const parallel::Action& action = traced.action;
  TraceEvent span{action_label(profile, action), action_name(action.kind), time};
  if (action.unit >= 0) span.details.emplace_back("unit", action.unit);
  if (action.micro_batch >= 0) span.details.emplace_back("micro_batch", action.micro_batch);
  if (action.peer >= 0) span.details.emplace_back("stage_rank", action.peer);
  return span;
}

Track actions_on_host(const StepProfile& profile) {
  Track row{profile.is_on_device ? "enqueuing" : "computing", {}};
  for (const TracedAction& traced : profile.actions)
    row.events.push_back(span_of(profile, traced, {traced.host.started_s, traced.host.ended_s}));
  return row;
}

Track actions_on_device(const StepProfile& profile) {
  Track row{"computing", {}};
  for (const TracedAction& traced : profile.actions)
    row.events.push_back(span_of(profile, traced, traced.device));
  return row;
}

Track waits(const StepProfile& profile) {
  const double begin_s = profile.step_time.start_s;
  Track row{"waiting", {}};
  if (profile.data_wait_s > 0)
    row.events.push_back({"data", "data_wait", {begin_s, begin_s + profile.data_wait_s}});
  for (const Interval& exposure : profile.exposed_communication) {
    if (exposure.duration_s() >= shortest_exposure_s)
      row.events.push_back({"communication", "exposed_communication", exposure});
  }
  return row;
}

Track operations_of(const StepProfile& profile, std::size_t group) {
  const comm::GroupRecord& ranks = profile.groups[group];
  Track row{"group " + ranks.name, {}};
  for (const comm::OperationRecord& record : profile.operations) {
    if (record.group != static_cast<int>(group)) continue;
    const char* const kind = operation_name(record.kind);
    row.events.push_back({kind,
                          kind,
                          {record.started_s, record.finished_s},
                          {{"bytes", record.bytes}, {"sequence", record.sequence}}});
    if (record.peer >= 0)
      row.events.back().details.emplace_back("peer", ranks.members.at(static_cast<std::size_t>(record.peer)));
  }
  return row;
}

/// Appends as many rows as it takes for no spans to overlap. Each span goes into the first row that has
/// room.
void add(std::vector<Track>& rows, Track row) {
  std::stable_sort(row.events.begin(), row.events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.time.start_s < b.time.start_s; });
  std::vector<Track> parts;
  for (TraceEvent& span : row.events) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const Track& candidate) {
      return candidate.events.back().time.end_s <= span.time.start_s;
    });
    if (part == parts.end()) {
      const std::string number = parts.empty() ? "" : fmt::format(" {}", parts.size() + 1);
      part = parts.insert(part, Track{row.name + number, {}});
    }
    part->events.push_back(std::move(span));
  }
  std::move(parts.begin(), parts.end(), std::back_inserter(rows));
}

}  // namespace

std::vector<Track> build_tracks(const StepProfile& profile) {
  std::vector<Track> rows;
  add(rows, {"step", {{fmt::format("step {}", profile.step), "step", profile.step_time}}});
  add(rows, actions_on_host(profile));
  if (profile.is_on_device) add(rows, actions_on_device(profile));
  add(rows, waits(profile));
  for (std::size_t group = 0; group < profile.groups.size(); ++group)
    add(rows, operations_of(profile, group));
  return rows;
}

}  // namespace dt::profile
