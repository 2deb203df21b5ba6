#pragma once
// What ranks leave in the folder `flight/` for each other and for people: heartbeats while they live,
// evidence when they fail. FORMATS.md specifies both files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "comm/recorder.hpp"

namespace dt::comm {

struct FlightOperation {
  OperationKind kind = OperationKind::barrier;
  std::string group;
  std::int64_t sequence = 0;
  std::int64_t bytes = 0;
  int peer = -1;  // of send and receive: global rank
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
  std::string duty = {};  // as its recorder has it
  bool operator==(const FlightProcess&) const = default;
};
/// "rank 3 on n4 (process 123)", "rank 3 on n4 (process 123, stage 1 of 2: layers.1 to head)"
std::string describe(const FlightProcess& process);

struct Heartbeat {
  FlightProcess writer;
  std::int64_t beat = 0;  // counts; of one process it only grows
  std::string time;       // UTC
  std::int64_t step = 0;
  std::optional<FlightOperation> last = {};  // the newest that was begun
  std::vector<FlightGroup> groups = {};
};

enum class FlightCause { timeout, failure };  // an operation did not end; this rank failed

struct Evidence {
  FlightProcess writer;
  std::string time = {};  // UTC
  std::int64_t step = 0;
  FlightCause cause = FlightCause::failure;
  std::string verdict;
  std::int64_t num_operations = 0;               // begun since the rank's beginning
  std::vector<FlightGroup> groups = {};          // `under_way` is not kept
  std::vector<FlightOperation> operations = {};  // in the order of their starts
};

/// `writer` with the duty of the snapshot.
Heartbeat make_heartbeat(const FlightProcess& writer, std::int64_t beat, const Recorder::Snapshot& snapshot);
Evidence make_evidence(const FlightProcess& writer, FlightCause cause, std::string verdict,
                       const Recorder::Snapshot& snapshot);

/// One line, filled up to at least `min_bytes`, that carries its own digest.
std::string heartbeat_text(const Heartbeat& heartbeat, std::size_t min_bytes);
/// Nothing where the text is torn, damaged or of another format or version. What follows the first line is
/// ignored.
std::optional<Heartbeat> parse_heartbeat(std::string_view text);
std::string evidence_text(const Evidence& evidence);
/// Errors: input, naming `origin` and line.
Evidence parse_evidence(std::string_view text, const std::string& origin);

/// FOLDER/START.rank-00003.beat
fs::path heartbeat_path(const fs::path& folder, const std::string& start_name, int rank);
/// FOLDER/START.rank-00003.jsonl
fs::path evidence_path(const fs::path& folder, const std::string& start_name, int rank);

/// This rank's heartbeat, rewritten in place. A crash leaves the last beat, perhaps torn.
class HeartbeatFile {
 public:
  explicit HeartbeatFile(fs::path path) : path_(std::move(path)) {}
  /// Other hosts see it when this returns, where the file system lets them. Never throws: false where it
  /// could not be written; the next call starts afresh.
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
  Heartbeat heartbeat = {};  // where present
};
/// Reads again, a few times, what is torn. Never throws but for lack of memory.
HeartbeatReading read_heartbeat(const fs::path& path);

/// Written atomically and synced. Errors: environment.
void write_evidence(const fs::path& path, const Evidence& evidence);
/// Errors: input, naming the file: it is missing, damaged or of another format or version.
Evidence read_evidence(const fs::path& path);

/// Removes heartbeats in the folder that starts other than the current one left, as killed processes do. What
/// cannot be removed stays. Never throws but for lack of memory.
void remove_stale_heartbeats(const fs::path& folder, const std::string& current_start_name);

}  // namespace dt::comm
