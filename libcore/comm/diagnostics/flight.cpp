#include "comm/diagnostics/flight.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/open_at.hpp"
#include "base/system/host.hpp"

namespace dt::comm {

namespace {

constexpr std::string_view heartbeat_extension = ".beat";
constexpr std::string_view evidence_extension = ".jsonl";
constexpr std::string_view before_rank = ".rank-";

// Enough for most heartbeats, so that the file keeps its size and a rewrite needs no space on the disk.
constexpr std::size_t min_heartbeat_bytes = 2048;

FlightOperation to_flight(const OperationRecord& record, const Recorder::Snapshot& snapshot) {
  const GroupRecord& group = snapshot.groups.at(static_cast<std::size_t>(record.group));
  FlightOperation operation{.kind = record.kind,
                            .group = group.name,
                            .sequence = record.sequence,
                            .bytes = record.bytes,
                            .step = record.step,
                            .started_s = record.started_s - snapshot.time_s};
  if (record.peer >= 0) operation.peer = group.members.at(static_cast<std::size_t>(record.peer));
  if (record.finished_s > 0) operation.ended_s = record.finished_s - snapshot.time_s;
  return operation;
}

std::vector<FlightGroup> to_flight_groups(const Recorder::Snapshot& snapshot) {
  std::vector<FlightGroup> groups;
  for (const GroupRecord& record : snapshot.groups) {
    FlightGroup group{.name = record.name,
                      .first = record.members.empty() ? 0 : record.members.front(),
                      .size = static_cast<int>(record.members.size()),
                      .started = record.started,
                      .finished = record.finished};
    for (const PeerRecord& peer : record.peers) {
      group.peers.push_back(
          {record.members.at(static_cast<std::size_t>(peer.peer)), peer.sends, peer.receives});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

fs::path file_path(const fs::path& folder, const std::string& start_name, int rank,
                   std::string_view extension) {
  return folder / fmt::format("{}{}{:05}{}", start_name, before_rank, rank, extension);
}

/// Returns the name of the start with which a heartbeat's file name begins, or an empty text for
/// other files.
std::string_view start_of(std::string_view file_name) {
  if (!file_name.ends_with(heartbeat_extension)) return {};
  file_name.remove_suffix(heartbeat_extension.size());
  const std::size_t at = file_name.rfind(before_rank);
  if (at == std::string_view::npos) return {};
  const std::string_view digits = file_name.substr(at + before_rank.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return file_name.substr(0, at);
}

bool is_unlinked(const File& file) {
  struct stat status {};
  return ::fstat(file.descriptor(), &status) != 0 || status.st_nlink == 0;
}

// NFS and some other file systems show written data to other hosts when a descriptor of the file is
// closed. Closing a duplicate suffices, and costs nothing on other file systems.
void show_to_other_hosts(const File& file) {
  const int duplicate = ::dup(file.descriptor());
  if (duplicate < 0 || ::close(duplicate) != 0) throw system_error(errno, "write", file.path().string());
}

}  // namespace

std::string describe(const FlightProcess& process) {
  return fmt::format("rank {} on {} (process {}{}{})", process.rank, process.host, process.process,
                     process.duty.empty() ? "" : ", ", process.duty);
}

Heartbeat make_heartbeat(const FlightProcess& writer, std::int64_t beat, const Recorder::Snapshot& snapshot) {
  Heartbeat heartbeat{.writer = writer, .beat = beat, .time = utc_timestamp(), .step = snapshot.step};
  heartbeat.writer.duty = snapshot.role;
  if (!snapshot.newest.empty()) heartbeat.last = to_flight(snapshot.newest.back(), snapshot);
  heartbeat.groups = to_flight_groups(snapshot);
  for (const OperationRecord& record : snapshot.in_flight) {
    auto& under_way = heartbeat.groups.at(static_cast<std::size_t>(record.group)).under_way;
    if (under_way.size() < FlightGroup::max_under_way) under_way.push_back(to_flight(record, snapshot));
  }
  return heartbeat;
}

Evidence make_evidence(const FlightProcess& writer, FlightCause cause, std::string verdict,
                       const Recorder::Snapshot& snapshot) {
  Evidence evidence{.writer = writer,
                    .time = utc_timestamp(),
                    .step = snapshot.step,
                    .cause = cause,
                    .verdict = std::move(verdict),
                    .num_operations = snapshot.operations,
                    .groups = to_flight_groups(snapshot)};
  evidence.writer.duty = snapshot.role;
  const std::int64_t oldest_in_ring = snapshot.newest.empty() ? 0 : snapshot.newest.front().ticket;
  for (const OperationRecord& record : snapshot.in_flight) {
    if (record.ticket < oldest_in_ring) evidence.operations.push_back(to_flight(record, snapshot));
  }
  for (const OperationRecord& record : snapshot.newest) {
    evidence.operations.push_back(to_flight(record, snapshot));
  }
  return evidence;
}

fs::path heartbeat_path(const fs::path& folder, const std::string& start_name, int rank) {
  return file_path(folder, start_name, rank, heartbeat_extension);
}

fs::path evidence_path(const fs::path& folder, const std::string& start_name, int rank) {
  return file_path(folder, start_name, rank, evidence_extension);
}

void HeartbeatFile::write_checked(const Heartbeat& heartbeat) {
  if (file_.is_open() && is_unlinked(file_)) file_ = File();
  if (!file_.is_open()) {
    file_ = File::create(path_);
    bytes_ = min_heartbeat_bytes;
  }
  const std::string text = heartbeat_text(heartbeat, bytes_);
  file_.write_at(0, std::as_bytes(std::span(text)));
  bytes_ = text.size();
  show_to_other_hosts(file_);
}

bool HeartbeatFile::write(const Heartbeat& heartbeat) noexcept {
  try {
    write_checked(heartbeat);
    return true;
  } catch (...) {
    file_ = File();
    return false;
  }
}

void HeartbeatFile::remove() noexcept {
  if (bytes_ == 0) return;
  file_ = File();
  std::error_code ignored;
  fs::remove(path_, ignored);
}

HeartbeatReading read_heartbeat(const fs::path& path) {
  constexpr int num_attempts = 5;
  HeartbeatReading reading{.state = HeartbeatReading::State::unreadable};
  for (int attempt = 0; attempt < num_attempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      reading.state = HeartbeatReading::State::unreadable;
      if (auto heartbeat = parse_heartbeat(read_file(path))) {
        return {HeartbeatReading::State::present, *std::move(heartbeat)};
      }
    } catch (const Error&) {
      std::error_code error;
      const bool is_missing = !fs::exists(path, error) && !error;
      if (is_missing) reading.state = HeartbeatReading::State::missing;
      if (is_missing && attempt == 0) break;  // a torn file that goes is being replaced
    }
  }
  return reading;
}

void write_evidence(const fs::path& path, const Evidence& evidence) {
  write_file_atomically(path, evidence_text(evidence));
}

Evidence read_evidence(const fs::path& path) {
  return parse_evidence(read_file(path), path.string());
}

void remove_stale_heartbeats(const fs::path& folder, const std::string& current_start_name) {
  std::error_code ignored;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::string_view start = start_of(name);
    if (!start.empty() && start != current_start_name) stale.push_back(entry->path());
  }
  for (const fs::path& path : stale) {
    try {
      remove_own_file(path);
    } catch (const Error&) {  // the next start tries again
    }
  }
}

}  // namespace dt::comm
