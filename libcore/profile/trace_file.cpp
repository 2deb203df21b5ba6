#include "profile/trace_file.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/tracks.hpp"

namespace dt::profile {

namespace {

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
