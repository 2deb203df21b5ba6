#include "profile/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/core.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/io/atomic_files.hpp"
#include "profile/step_profile.hpp"

namespace dt::profile {

namespace {

/// A span of a step that took time.
struct TraceEvent {
  std::string name;
  std::string kind;
  Interval time;
  std::vector<std::pair<std::string, std::int64_t>> details{};
};

/// A row of a step: spans in the order of their starts. No span begins before the end of the one before.
struct Track {
  std::string name;
  std::vector<TraceEvent> events;
};

/// Shorter exposures are left out: polls between kernels make thousands of them, too short to see.
constexpr double shortest_exposure_s = 1e-6;

TraceEvent span_of(const StepProfile& profile, const TracedAction& traced, const Interval& time) {
  const parallel::Action& action = traced.action;
  TraceEvent span{action_label(profile, action), std::string(name_of(action.kind)), time};
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
    const std::string kind(name_of(record.kind));
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

/// Returns the rows of a step. The first is the step itself. Others show the host's computations
/// or, for a device, what it enqueues; the device's computations; the host's waits; and each
/// group's operations. Spans that overlap have further rows, "data 2".
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

using Json = nlohmann::ordered_json;

constexpr int version = 1;

/// Returns a metadata event about a process or one of its rows.
Json about(const StepProfile& profile, const char* what, int row, const char* key, const Json& value) {
  return {{"name", what}, {"ph", "M"}, {"pid", profile.rank}, {"tid", row}, {"args", {{key, value}}}};
}

std::int64_t nanoseconds_since(double zero_s, double time_s) {
  return std::llround((time_s - zero_s) * 1e9);
}

/// Returns a span's event. Both ends are rounded, and not the length, so that a span that follows
/// without a gap does not begin before the end.
Json event_of(const StepProfile& profile, const TraceEvent& span, int row) {
  const std::int64_t start = nanoseconds_since(profile.clock.zero_s, span.time.start_s);
  const std::int64_t end = nanoseconds_since(profile.clock.zero_s, span.time.end_s);
  Json event{{"name", span.name},
             {"cat", span.kind},
             {"ph", "X"},
             {"pid", profile.rank},
             {"tid", row},
             {"ts", static_cast<double>(start) / 1000},
             {"dur", static_cast<double>(end - start) / 1000}};
  for (const auto& [key, value] : span.details) event["args"][key] = value;
  return event;
}

Json events_of(const StepProfile& profile) {
  const std::string duty = profile.role.empty() ? "" : ", " + profile.role;
  Json events = Json::array();
  events.push_back(about(profile, "process_name", 0, "name",
                         fmt::format("rank {} on {}{}", profile.rank, profile.host, duty)));
  events.push_back(about(profile, "process_sort_index", 0, "sort_index", profile.rank));
  int number = 0;
  for (const Track& row : build_tracks(profile)) {
    events.push_back(about(profile, "thread_name", ++number, "name", row.name));
    events.push_back(about(profile, "thread_sort_index", number, "sort_index", number));
    for (const TraceEvent& span : row.events) events.push_back(event_of(profile, span, number));
  }
  return events;
}

}  // namespace

std::string trace_file_name(const StepProfile& profile) {
  return fmt::format("step-{:08}.g{}.rank-{:05}.json", profile.step, profile.generation, profile.rank);
}

std::string to_json(const StepProfile& profile) {
  Json file{{"format", "dt-profile"},
            {"version", version},
            {"displayTimeUnit", "ms"},
            {"otherData",
             {{"step", profile.step},
              {"generation", profile.generation},
              {"rank", profile.rank},
              {"host", profile.host},
              {"layout", profile.layout},
              {"clock_error_us", profile.clock.error_s * 1e6}}},
            {"traceEvents", events_of(profile)}};
  if (profile.is_on_device) file["otherData"]["device_clock_error_us"] = profile.device_error_s * 1e6;
  return file.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_trace(const fs::path& folder, const StepProfile& profile) {
  create_folders(folder);
  write_file_atomically(folder / trace_file_name(profile), to_json(profile));
}

}  // namespace dt::profile
