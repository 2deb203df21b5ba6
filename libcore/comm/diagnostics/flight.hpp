#pragma once
// Files that ranks leave in the folder `flight/` for each other and for people: heartbeats while they
// live, evidence when they fail. FORMATS.md specifies both files.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/files.hpp"
#include "base/text/enum_names.hpp"
#include "comm/core/recorder.hpp"

namespace dt::comm {

struct FlightOperation {
  OperationKind kind = OperationKind::barrier;
  std::string group;
  std::int64_t sequence = 0;
  std::int64_t bytes = 0;
  int peer = -1;  // global rank; sends and receives only
  std::int64_t step = 0;
  double started_s = 0;  // relative to the moment of writing, so never above 0
  std::optional<double> ended_s = {};
};

struct FlightPeer {
  int rank = 0;  // global
  std::int64_t sends = 0;
  std::int64_t receives = 0;
};

struct FlightGroup {
  std::string name;
  int first = 0;  // the global rank of its rank 0
  int size = 1;
  std::int64_t started = 0;  // collectives; see GroupRecord
  std::int64_t finished = 0;
  std::vector<FlightPeer> peers = {};
  std::vector<FlightOperation> under_way = {};  // the oldest max_under_way, oldest first
  static constexpr std::size_t max_under_way = 8;
};

struct FlightProcess {
  int rank = 0;
  std::string host;
  std::int64_t process = 0;
  std::string duty = {};  // from the writer's recorder
  bool operator==(const FlightProcess&) const = default;
};
/// Returns "rank 3 on n4 (process 123)", "rank 3 on n4 (process 123, stage 1 of 2: layers.1 to head)".
std::string describe(const FlightProcess& process);

struct Heartbeat {
  FlightProcess writer;
  std::int64_t beat = 0;  // a count that only grows within a process
  std::string time;       // UTC
  std::int64_t step = 0;
  std::optional<FlightOperation> last = {};  // newest operation that was begun
  std::vector<FlightGroup> groups = {};
};

enum class FlightCause { timeout, failure };  // an operation did not end; this rank failed
constexpr auto enum_names(FlightCause) {
  using enum FlightCause;
  return std::to_array<EnumName<FlightCause>>({{"timeout", timeout}, {"failure", failure}});
}

struct Evidence {
  FlightProcess writer;
  std::string time = {};  // UTC
  std::int64_t step = 0;
  FlightCause cause = FlightCause::failure;
  std::string verdict;
  std::int64_t num_operations = 0;               // begun since the rank started
  std::vector<FlightGroup> groups = {};          // `under_way` is not kept
  std::vector<FlightOperation> operations = {};  // in the order of their starts
};

/// Returns a heartbeat of `writer`, which gets the duty of the snapshot.
Heartbeat make_heartbeat(const FlightProcess& writer, std::int64_t beat, const Recorder::Snapshot& snapshot);
Evidence make_evidence(const FlightProcess& writer, FlightCause cause, std::string verdict,
                       const Recorder::Snapshot& snapshot);

/// Returns the heartbeat's text: one line with its own digest, padded to at least `min_bytes`.
std::string heartbeat_text(const Heartbeat& heartbeat, std::size_t min_bytes);
/// Parses a heartbeat. Returns none if the text is torn, damaged or of another format or version.
/// Ignores what follows the first line.
std::optional<Heartbeat> parse_heartbeat(std::string_view text);
std::string evidence_text(const Evidence& evidence);
/// Parses evidence.
/// Errors: input, naming `origin` and line.
Evidence parse_evidence(std::string_view text, const std::string& origin);

/// Returns FOLDER/START.rank-00003.beat.
fs::path heartbeat_path(const fs::path& folder, const std::string& start_name, int rank);
/// Returns FOLDER/START.rank-00003.jsonl.
fs::path evidence_path(const fs::path& folder, const std::string& start_name, int rank);

/// The file of this rank's heartbeat, rewritten in place.
/// After a crash: the last beat remains, perhaps torn.
class HeartbeatFile {
 public:
  explicit HeartbeatFile(fs::path path) : path_(std::move(path)) {}
  /// Writes a beat. Other hosts see it when this returns, if the file system lets them. Never throws.
  /// Returns false if the beat could not be written; the next call starts afresh.
  bool write(const Heartbeat& heartbeat) noexcept;
  /// Removes the file, if this object wrote one. Never throws.
  void remove() noexcept;

 private:
  void write_checked(const Heartbeat& heartbeat);
  fs::path path_;
  File file_;
  std::size_t bytes_ = 0;
};

struct HeartbeatReading {
  enum class State { missing, unreadable, present };
  State state = State::missing;
  Heartbeat heartbeat = {};  // if present
};
/// Reads a heartbeat. Reads a torn file again, a few times, also while it is replaced. Never throws except
/// for lack of memory.
HeartbeatReading read_heartbeat(const fs::path& path);

/// Writes evidence, atomically and synced.
/// Errors: environment.
void write_evidence(const fs::path& path, const Evidence& evidence);
/// Reads evidence.
/// Errors: input, naming the file (missing, damaged or of another format or version).
Evidence read_evidence(const fs::path& path);

/// Removes heartbeats that other starts than the current one left in the folder, as their killed
/// processes do. Leaves what cannot be removed. Never throws except for lack of memory.
void remove_stale_heartbeats(const fs::path& folder, const std::string& current_start_name);

}  // namespace dt::comm
