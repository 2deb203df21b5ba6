#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/text.hpp"
#include "comm/diagnostics/flight.hpp"

namespace dt::comm {

namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
constexpr const char* heartbeat_format = "dt-heartbeat";
constexpr const char* evidence_format = "dt-flight";
// A heartbeat ends with before_digest, 16 digits and after_digest, so that it can be checked before it
// is parsed.
constexpr std::string_view before_digest = ",\"digest\":\"";
constexpr std::string_view after_digest = "\"}";

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double to_milliseconds(double seconds) {
  return std::round(seconds * 1e3) / 1e3 + 0.0;  // not -0
}

OperationKind kind_of(const std::string& name) {
  if (const auto kind = parse_name<OperationKind>(name)) return *kind;
  throw input_error("unknown operation '{}'", name);
}

Json to_json(const FlightOperation& operation) {
  Json json = {{"kind", name_of(operation.kind)},
               {"group", operation.group},
               {"sequence", operation.sequence},
               {"bytes", operation.bytes}};
  if (is_point_to_point(operation.kind)) json["peer"] = operation.peer;
  json["step"] = operation.step;
  json["started_s"] = to_milliseconds(operation.started_s);
  if (operation.ended_s) json["ended_s"] = to_milliseconds(*operation.ended_s);
  return json;
}

FlightOperation operation_of(const Json& json) {
  FlightOperation operation{.kind = kind_of(json.at("kind").get<std::string>()),
                            .group = json.at("group").get<std::string>(),
                            .sequence = json.at("sequence").get<std::int64_t>(),
                            .bytes = json.at("bytes").get<std::int64_t>(),
                            .step = json.at("step").get<std::int64_t>(),
                            .started_s = json.at("started_s").get<double>()};
  if (is_point_to_point(operation.kind)) operation.peer = json.at("peer").get<int>();
  if (json.contains("ended_s")) operation.ended_s = json.at("ended_s").get<double>();
  return operation;
}

Json to_json(const FlightGroup& group) {
  Json json = {{"name", group.name},
               {"first", group.first},
               {"size", group.size},
               {"started", group.started},
               {"finished", group.finished}};
  for (const FlightPeer& peer : group.peers) {
    json["peers"].push_back({{"rank", peer.rank}, {"sends", peer.sends}, {"receives", peer.receives}});
  }
  for (const FlightOperation& operation : group.under_way) json["in"].push_back(to_json(operation));
  return json;
}

FlightGroup group_of(const Json& json) {
  FlightGroup group{.name = json.at("name").get<std::string>(),
                    .first = json.at("first").get<int>(),
                    .size = json.at("size").get<int>(),
                    .started = json.at("started").get<std::int64_t>(),
                    .finished = json.at("finished").get<std::int64_t>()};
  for (const Json& peer : json.value("peers", Json::array())) {
    group.peers.push_back({peer.at("rank").get<int>(), peer.at("sends").get<std::int64_t>(),
                           peer.at("receives").get<std::int64_t>()});
  }
  for (const Json& operation : json.value("in", Json::array())) {
    group.under_way.push_back(operation_of(operation));
  }
  return group;
}

Json header(const char* format, const FlightProcess& writer) {
  Json json = {{"format", format},
               {"version", format_version},
               {"rank", writer.rank},
               {"host", writer.host},
               {"process", writer.process}};
  if (!writer.duty.empty()) json["duty"] = writer.duty;
  return json;
}

FlightProcess writer_of(const Json& json, const char* format) {
  const auto found_format = json.at("format").get<std::string>();
  const auto found_version = json.at("version").get<std::int64_t>();
  if (found_format != format || found_version != format_version) {
    throw input_error("format {} version {}, but {} version {} is expected", found_format, found_version,
                      format, format_version);
  }
  return {json.at("rank").get<int>(), json.at("host").get<std::string>(),
          json.at("process").get<std::int64_t>(), json.value("duty", "")};
}

Json to_json(const std::vector<FlightGroup>& groups) {
  Json json = Json::array();
  for (const FlightGroup& group : groups) json.push_back(to_json(group));
  return json;
}

Heartbeat heartbeat_of(const Json& json) {
  Heartbeat heartbeat{.writer = writer_of(json, heartbeat_format),
                      .beat = json.at("beat").get<std::int64_t>(),
                      .time = json.at("time").get<std::string>(),
                      .step = json.at("step").get<std::int64_t>()};
  if (json.contains("last")) heartbeat.last = operation_of(json.at("last"));
  for (const Json& group : json.at("groups")) heartbeat.groups.push_back(group_of(group));
  return heartbeat;
}

Evidence evidence_of(const Json& json) {
  Evidence evidence{
      .writer = writer_of(json, evidence_format),
      .time = json.at("time").get<std::string>(),
      .step = json.at("step").get<std::int64_t>(),
      .cause = parse_name<FlightCause>(json.at("cause").get<std::string>()).value_or(FlightCause::failure),
      .verdict = json.at("verdict").get<std::string>(),
      .num_operations = json.at("num_operations").get<std::int64_t>()};
  for (const Json& group : json.at("groups")) evidence.groups.push_back(group_of(group));
  return evidence;
}

}  // namespace

std::string heartbeat_text(const Heartbeat& heartbeat, std::size_t min_bytes) {
  Json json = header(heartbeat_format, heartbeat.writer);
  json["beat"] = heartbeat.beat;
  json["time"] = heartbeat.time;
  json["step"] = heartbeat.step;
  if (heartbeat.last) json["last"] = to_json(*heartbeat.last);
  json["groups"] = to_json(heartbeat.groups);
  std::string text = dump(json);
  text.pop_back();  // the closing brace
  const std::uint64_t value = digest(text);
  text.append(before_digest).append(to_hex(value)).append(after_digest);
  text.resize(std::max(text.size() + 1, min_bytes), ' ');
  text.back() = '\n';
  return text;
}

std::optional<Heartbeat> parse_heartbeat(std::string_view text) {
  const std::string_view line = trim(text.substr(0, text.find('\n')));
  constexpr std::size_t end_bytes = before_digest.size() + 16 + after_digest.size();
  if (line.size() <= end_bytes) return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - end_bytes);
  std::string expected_end(before_digest);
  expected_end.append(to_hex(digest(body))).append(after_digest);
  if (line.substr(body.size()) != expected_end) return std::nullopt;
  try {
    return heartbeat_of(parse_json(line, {"heartbeat"}));
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string evidence_text(const Evidence& evidence) {
  Json json = header(evidence_format, evidence.writer);
  json["time"] = evidence.time;
  json["step"] = evidence.step;
  json["cause"] = name_of(evidence.cause);
  json["verdict"] = evidence.verdict;
  json["num_operations"] = evidence.num_operations;
  json["groups"] = to_json(evidence.groups);
  std::string text = dump(json) + "\n";
  for (const FlightOperation& operation : evidence.operations) text += dump(to_json(operation)) + "\n";
  return text;
}

Evidence parse_evidence(std::string_view text, const std::string& origin) {
  Evidence evidence;
  std::size_t line_number = 0;
  try {
    if (text.empty() || text.back() != '\n') throw input_error("the last line is incomplete");
    for (const std::string& line : split(text.substr(0, text.size() - 1), '\n')) {
      ++line_number;
      const Json json = parse_json(line, {"record"});
      if (line_number == 1) {
        evidence = evidence_of(json);
      } else {
        evidence.operations.push_back(operation_of(json));
      }
    }
  } catch (const Json::exception& error) {
    throw input_error("{} line {}: {}", origin, line_number, error.what());
  } catch (const Error& error) {
    throw input_error("{} line {}: {}", origin, line_number, error.what());
  }
  return evidence;
}

}  // namespace dt::comm
