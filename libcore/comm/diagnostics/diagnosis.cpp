#include "comm/diagnostics/diagnosis.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <ranges>

#include "base/text/text.hpp"

namespace dt::comm {

namespace {

constexpr std::size_t max_named = 8;
constexpr std::size_t max_quoted_bytes = 240;

// The kinds of faults, in the order in which the report names them.
enum class Fault { failed, silent, outside, mismatch, idle, elsewhere, timed_out };

struct Finding {
  Fault fault;
  int rank;
  std::string text;
};

/// Returns "all_reduce 56", "receive 4 from rank 2".
std::string short_name(OperationKind kind, std::int64_t sequence, int global_peer) {
  std::string text = fmt::format("{} {}", dt::name_of(kind), sequence);
  if (kind == OperationKind::send) text += fmt::format(" to rank {}", global_peer);
  if (kind == OperationKind::receive) text += fmt::format(" from rank {}", global_peer);
  return text;
}

/// Returns "all_reduce 56 of step 12", "all_reduce 7 of group tensor, step 12".
std::string name_of(const FlightOperation& operation, const GroupRecord& group) {
  const std::string text = short_name(operation.kind, operation.sequence, operation.peer);
  if (operation.group == group.name) return fmt::format("{} of step {}", text, operation.step);
  return fmt::format("{} of group {}, step {}", text, operation.group, operation.step);
}

int global_peer(const StuckOperation& operation) {
  const int peer = operation.record.peer;
  return peer < 0 ? -1 : operation.group.members.at(static_cast<std::size_t>(peer));
}

std::string name_of(const StuckOperation& operation) {
  const OperationRecord& record = operation.record;
  return fmt::format("{} of group {} (step {}, {})",
                     short_name(record.kind, record.sequence, global_peer(operation)), operation.group.name,
                     record.step, format_bytes(static_cast<std::uint64_t>(record.bytes)));
}

/// Returns plain seconds, as timeouts are given.
std::string duration(double seconds) {
  seconds = std::max(0.0, seconds);
  return seconds < 9.95 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

/// Returns the newest matching group. A run that compares layouts makes groups of the same name and
/// members for each of them in turn.
const FlightGroup* find_group(const Heartbeat& heartbeat, const GroupRecord& group) {
  for (const FlightGroup& candidate : heartbeat.groups | std::views::reverse) {
    if (candidate.name == group.name && !group.members.empty() && candidate.first == group.members.front() &&
        candidate.size == static_cast<int>(group.members.size())) {
      return &candidate;
    }
  }
  return nullptr;
}

/// Returns the kind that the other rank records for the operation.
OperationKind counterpart(OperationKind kind) {
  if (kind == OperationKind::send) return OperationKind::receive;
  if (kind == OperationKind::receive) return OperationKind::send;
  return kind;
}

bool has_entered(const FlightGroup& theirs, const StuckOperation& operation) {
  const OperationRecord& record = operation.record;
  if (!is_point_to_point(record.kind)) return theirs.started >= record.sequence;
  for (const FlightPeer& peer : theirs.peers) {
    if (peer.rank != operation.rank) continue;
    return (record.kind == OperationKind::send ? peer.receives : peer.sends) >= record.sequence;
  }
  return false;
}

/// Returns the operation that the other rank has under way at this operation's place in the order
/// of calls. Returns null if it has none under way there.
const FlightOperation* at_its_place(const FlightGroup& theirs, const StuckOperation& operation) {
  const OperationRecord& record = operation.record;
  const bool is_pair = is_point_to_point(record.kind);
  for (const FlightOperation& candidate : theirs.under_way) {
    if (candidate.sequence != record.sequence || is_point_to_point(candidate.kind) != is_pair) continue;
    if (is_pair && (candidate.peer != operation.rank || candidate.kind != counterpart(record.kind))) continue;
    return &candidate;
  }
  return nullptr;
}

const FlightOperation* oldest_under_way(const Heartbeat& heartbeat) {
  const FlightOperation* oldest = nullptr;
  for (const FlightGroup& group : heartbeat.groups) {
    if (group.under_way.empty()) continue;
    const FlightOperation& candidate = group.under_way.front();
    if (oldest == nullptr || candidate.started_s < oldest->started_s) oldest = &candidate;
  }
  return oldest;
}

std::string last_known(const Heartbeat& heartbeat, const GroupRecord& group) {
  if (const FlightOperation* current = oldest_under_way(heartbeat)) {
    return "last in " + name_of(*current, group);
  }
  if (heartbeat.last) return fmt::format("last seen after {}", name_of(*heartbeat.last, group));
  return "last seen before its first operation";
}

std::string shortened(std::string text) {
  if (text.size() <= max_quoted_bytes) return text;
  text.resize(max_quoted_bytes);
  // Ends before a multi-byte character, not within it.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.pop_back();
  return text + " …";
}

Finding silent_finding(int rank, const PeerObservation& sighting, const GroupRecord& group) {
  if (sighting.evidence) {
    const std::string writer = describe(sighting.evidence->writer);
    if (sighting.evidence->cause == FlightCause::timeout) {
      return {Fault::timed_out, rank, writer + " timed out earlier"};
    }
    return {Fault::failed, rank, fmt::format("{} failed: {}", writer, shortened(sighting.evidence->verdict))};
  }
  const Heartbeat* heartbeat = sighting.last_heartbeat();
  if (heartbeat == nullptr) {
    const bool missing = sighting.after.state == HeartbeatReading::State::missing;
    return {Fault::silent, rank,
            fmt::format("rank {} is silent, its heartbeat {}", rank, missing ? "missing" : "unreadable")};
  }
  return {Fault::silent, rank,
          fmt::format("{} is silent, {}", describe(heartbeat->writer), last_known(*heartbeat, group))};
}

Finding behind_finding(const Heartbeat& heartbeat, const GroupRecord& group) {
  const std::string start = describe(heartbeat.writer) + " has not entered it: it is in ";
  const int rank = heartbeat.writer.rank;
  if (const FlightOperation* current = oldest_under_way(heartbeat)) {
    return {Fault::elsewhere, rank,
            fmt::format("{}{} for {}", start, name_of(*current, group), duration(-current->started_s))};
  }
  std::string text = fmt::format("{}no operation, at step {}", start, heartbeat.step);
  if (heartbeat.last) {
    text += fmt::format(", {} after it entered {}", duration(-heartbeat.last->started_s),
                        name_of(*heartbeat.last, group));
  }
  return {Fault::idle, rank, text};
}

std::optional<Finding> mismatch_finding(const Heartbeat& heartbeat, const FlightOperation& theirs,
                                        const StuckOperation& operation) {
  const bool may_differ = traits(theirs.kind).in == Extent::parts;  // bytes of parts
  if (theirs.kind == counterpart(operation.record.kind) &&
      (may_differ || theirs.bytes == operation.record.bytes)) {
    return std::nullopt;
  }
  return Finding{
      Fault::mismatch, heartbeat.writer.rank,
      fmt::format("{} is in a different operation instead: {}, {}", describe(heartbeat.writer),
                  name_of(theirs, operation.group), format_bytes(static_cast<std::uint64_t>(theirs.bytes)))};
}

std::optional<Finding> examine(int rank, const PeerObservation& sighting, const StuckOperation& operation) {
  if (sighting.is_silent()) return silent_finding(rank, sighting, operation.group);
  const Heartbeat& heartbeat = *sighting.last_heartbeat();
  const FlightGroup* theirs = find_group(heartbeat, operation.group);
  if (theirs == nullptr || !has_entered(*theirs, operation)) {
    return behind_finding(heartbeat, operation.group);
  }
  const FlightOperation* current = at_its_place(*theirs, operation);
  return current == nullptr ? std::nullopt : mismatch_finding(heartbeat, *current, operation);
}

/// Checks whether the heartbeat of a rank outside the group stands still. A rank without a
/// heartbeat may have ended normally.
std::optional<Finding> examine_outsider(int rank, const PeerObservation& sighting,
                                        const StuckOperation& operation) {
  if (!sighting.is_silent() || sighting.after.state != HeartbeatReading::State::present) return std::nullopt;
  Finding finding = silent_finding(rank, sighting, operation.group);
  if (finding.fault == Fault::timed_out) return std::nullopt;
  finding.text += " (not a member of its group)";
  finding.fault = Fault::outside;
  return finding;
}

std::vector<Finding> examine_all(const StuckOperation& operation,
                                 const std::map<int, PeerObservation>& sightings) {
  std::vector<Finding> findings;
  const std::vector<int> suspects = suspected_ranks(operation);
  for (const int rank : suspects) {
    const auto sighting = sightings.find(rank);
    if (sighting == sightings.end()) continue;
    if (auto finding = examine(rank, sighting->second, operation)) findings.push_back(*finding);
  }
  const bool explained = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.fault == Fault::failed || finding.fault == Fault::silent;
  });
  if (!explained) {
    for (const auto& [rank, sighting] : sightings) {
      if (std::find(suspects.begin(), suspects.end(), rank) != suspects.end()) continue;
      if (auto finding = examine_outsider(rank, sighting, operation)) findings.push_back(*finding);
    }
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.fault < b.fault; });
  return findings;
}

std::string describe_no_fault(const StuckOperation& operation) {
  if (is_point_to_point(operation.record.kind)) {
    return fmt::format("rank {} is alive and has entered it too, so the network may be at fault",
                       global_peer(operation));
  }
  return "all its ranks are alive and have entered it, so the network may be at fault";
}

}  // namespace

bool PeerObservation::is_silent() const {
  using State = HeartbeatReading::State;
  if (after.state != State::present) return true;
  return before.state == State::present && before.heartbeat.writer == after.heartbeat.writer &&
         before.heartbeat.beat == after.heartbeat.beat;
}

const Heartbeat* PeerObservation::last_heartbeat() const {
  for (const HeartbeatReading* reading : {&after, &before}) {
    if (reading->state == HeartbeatReading::State::present) return &reading->heartbeat;
  }
  return nullptr;
}

std::vector<int> suspected_ranks(const StuckOperation& operation) {
  if (is_point_to_point(operation.record.kind)) return {global_peer(operation)};
  std::vector<int> ranks = operation.group.members;
  std::erase(ranks, operation.rank);
  return ranks;
}

std::string diagnose(const StuckOperation& operation, double timeout_s,
                     const std::map<int, PeerObservation>& sightings) {
  const std::vector<Finding> findings = examine_all(operation, sightings);
  std::string text = fmt::format("{} did not complete within {}: ", name_of(operation), duration(timeout_s));
  if (findings.empty()) return text + describe_no_fault(operation);
  for (std::size_t i = 0; i < std::min(findings.size(), max_named); ++i) {
    if (i > 0) text += "; ";
    text += findings[i].text;
  }
  if (findings.size() > max_named) text += fmt::format("; and {} more", findings.size() - max_named);
  return text;
}

}  // namespace dt::comm
