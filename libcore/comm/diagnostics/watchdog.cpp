#include "comm/diagnostics/watchdog.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "base/system/signals.hpp"
#include "comm/diagnostics/diagnosis.hpp"

namespace dt::comm {

namespace {

// Time between two looks at the other ranks. A rank that lives has beaten at least twice by then.
constexpr double look_again_beats = 2.5;
// When a large group is stuck, its first ranks look at once, the others a little later, so that not all
// read all files at the same time. Mostly the first ranks end the run before the others look.
constexpr int num_first_lookers = 16;
constexpr double looker_delay_beats = 0.02;
constexpr double max_delay_beats = 4;
// Up to this size, ranks that take no part in the operation are looked at too.
constexpr int max_ranks_to_scan = 1024;

double delay_beats(const StuckOperation& operation) {
  const auto& members = operation.group.members;
  const auto own = std::find(members.begin(), members.end(), operation.rank);
  const auto position = static_cast<int>(own - members.begin());
  return std::clamp((position - num_first_lookers) * looker_delay_beats, 0.0, max_delay_beats);
}

/// An overdue operation, and the sightings of other ranks so far.
struct Inquiry {
  StuckOperation operation;
  std::map<int, PeerObservation> sightings;
  bool has_looked = false;
  double due_s = 0;  // time of the next look
};

}  // namespace

struct Watchdog::State {
  WatchdogSettings settings;
  std::shared_ptr<const Recorder> recorder;
  std::function<void(const Error&)> on_timeout;
  FlightProcess self;

  HeartbeatFile heartbeat;
  std::int64_t num_beats = 0;
  double next_beat_s = 0;
  double resumed_s = 0;  // when the process last came back from being stopped
  std::optional<Inquiry> inquiry;
  bool has_struck = false;

  std::mutex evidence_mutex;
  bool has_evidence = false;

  std::mutex sleep_mutex;
  std::condition_variable_any sleep;
  std::jthread thread;  // last: it uses the others

  State(WatchdogSettings settings_, std::shared_ptr<const Recorder> recorder_,
        std::function<void(const Error&)> on_timeout_)
      : settings(std::move(settings_)),
        recorder(std::move(recorder_)),
        on_timeout(std::move(on_timeout_)),
        self{settings.rank, host_name(), ::getpid()},
        heartbeat(heartbeat_path(settings.folder, settings.start_name, settings.rank)) {}

  void start();
  void run(const std::stop_token& stop);
  bool sleep_until(const std::stop_token& stop, double time_s);
  double wake_time_s() const;
  void beat();
  void beat_if_due();
  void watch();
  void open_inquiry();
  bool is_still_stuck() const;
  std::vector<int> ranks_to_look_at() const;
  void look(HeartbeatReading PeerObservation::*reading);
  void find_evidence_of_silent_ranks();
  std::string verdict() noexcept;
  void strike();
  std::string keep_evidence(FlightCause cause, const std::string& verdict) noexcept;
};

void Watchdog::State::start() {
  beat();
  const ScopedSignalBlock blocked;
  try {
    thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& error) {
    heartbeat.remove();
    throw thread_error(error.code().value());
  }
}

void Watchdog::State::run(const std::stop_token& stop) {
  while (sleep_until(stop, wake_time_s())) {
    beat_if_due();
    try {
      if (!has_struck) watch();
    } catch (const std::exception&) {
      inquiry.reset();  // memory is short; the next round may do better
    }
  }
}

bool Watchdog::State::sleep_until(const std::stop_token& stop, double time_s) {
  const double planned_s = std::max(time_s, monotonic_s());
  {
    std::unique_lock lock(sleep_mutex);
    sleep.wait_for(lock, stop, std::chrono::duration<double>(planned_s - monotonic_s()),
                   [&stop] { return stop.stop_requested(); });
  }
  const double now_s = monotonic_s();
  // The thread has overslept by far, so the process was stopped. Its operations may need time to go
  // on.
  if (now_s - planned_s > std::max(5.0, 5 * settings.beat_s)) {
    resumed_s = now_s;
    inquiry.reset();
  }
  return !stop.stop_requested();
}

double Watchdog::State::wake_time_s() const {
  if (has_struck || settings.timeout_s <= 0) return next_beat_s;
  if (inquiry) return std::min(next_beat_s, inquiry->due_s);
  const double oldest_s = recorder->oldest_start_s();
  if (oldest_s == 0) return next_beat_s;
  return std::min(next_beat_s, std::max(oldest_s, resumed_s) + settings.timeout_s);
}

void Watchdog::State::beat() {
  next_beat_s = monotonic_s() + settings.beat_s;
  try {
    heartbeat.write(make_heartbeat(self, ++num_beats, recorder->snapshot()));
  } catch (const std::exception&) {
    // Memory is short, as in run().
  }
}

void Watchdog::State::beat_if_due() {
  if (monotonic_s() >= next_beat_s) beat();
}

void Watchdog::State::watch() {
  if (!inquiry) {
    const double oldest_s = recorder->oldest_start_s();
    const bool overdue = oldest_s > 0 && monotonic_s() >= std::max(oldest_s, resumed_s) + settings.timeout_s;
    if (overdue) open_inquiry();
    return;
  }
  if (monotonic_s() < inquiry->due_s) return;
  if (!is_still_stuck()) {
    inquiry.reset();
  } else if (!inquiry->has_looked) {
    look(&PeerObservation::before);
    inquiry->has_looked = true;
    inquiry->due_s = monotonic_s() + look_again_beats * settings.beat_s;
  } else {
    look(&PeerObservation::after);
    if (is_still_stuck()) strike();
    inquiry.reset();
  }
}

void Watchdog::State::open_inquiry() {
  const Recorder::Snapshot snapshot = recorder->snapshot();
  if (snapshot.in_flight.empty()) return;
  const OperationRecord& oldest = snapshot.in_flight.front();
  const GroupRecord& group = snapshot.groups.at(static_cast<std::size_t>(oldest.group));
  inquiry.emplace();
  inquiry->operation = {oldest, group, settings.rank};
  inquiry->due_s = monotonic_s() + delay_beats(inquiry->operation) * settings.beat_s;
}

bool Watchdog::State::is_still_stuck() const {
  const Recorder::Snapshot snapshot = recorder->snapshot();
  return !snapshot.in_flight.empty() && snapshot.in_flight.front().ticket == inquiry->operation.record.ticket;
}

std::vector<int> Watchdog::State::ranks_to_look_at() const {
  if (settings.size > max_ranks_to_scan) return suspected_ranks(inquiry->operation);
  std::vector<int> ranks(static_cast<std::size_t>(settings.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::erase(ranks, settings.rank);
  return ranks;
}

void Watchdog::State::look(HeartbeatReading PeerObservation::*reading) {
  for (const int rank : ranks_to_look_at()) {
    inquiry->sightings[rank].*reading =
        read_heartbeat(heartbeat_path(settings.folder, settings.start_name, rank));
    beat_if_due();  // a slow file system must not make this rank look silent
  }
}

void Watchdog::State::find_evidence_of_silent_ranks() {
  for (auto& [rank, sighting] : inquiry->sightings) {
    if (!sighting.is_silent()) continue;
    try {
      Evidence evidence = read_evidence(evidence_path(settings.folder, settings.start_name, rank));
      const Heartbeat* last = sighting.last_heartbeat();
      const bool is_of_another = last != nullptr && last->writer != evidence.writer;  // an earlier process
      if (!is_of_another) sighting.evidence = std::move(evidence);
    } catch (const Error&) {
      // The rank left none.
    }
    beat_if_due();
  }
}

std::string Watchdog::State::verdict() noexcept {
  try {
    find_evidence_of_silent_ranks();
    return diagnose(inquiry->operation, settings.timeout_s, inquiry->sightings);
  } catch (const std::exception& error) {
    return std::string("an operation timed out; the cause cannot be determined: ") + error.what();
  }
}

void Watchdog::State::strike() {
  has_struck = true;
  const std::string text = verdict();
  on_timeout(Error(ErrorKind::environment, text, keep_evidence(FlightCause::timeout, text)));
}

/// Writes evidence, unless there is some. Returns a text that says where it is, or why there is none.
std::string Watchdog::State::keep_evidence(FlightCause cause, const std::string& verdict) noexcept {
  const std::lock_guard lock(evidence_mutex);
  const fs::path path = evidence_path(settings.folder, settings.start_name, settings.rank);
  try {
    if (!has_evidence)
      dt::comm::write_evidence(path, make_evidence(self, cause, verdict, recorder->snapshot()));
    has_evidence = true;
    return fmt::format("{} lists the operations before it", path.string());
  } catch (const std::exception& error) {
    return fmt::format("cannot write the record of operations: {}", error.what());
  }
}

Watchdog::Watchdog(WatchdogSettings settings, std::shared_ptr<const Recorder> recorder,
                   std::function<void(const Error&)> on_timeout)
    : state_(std::make_unique<State>(std::move(settings), std::move(recorder), std::move(on_timeout))) {
  state_->start();
}

Watchdog::~Watchdog() {
  state_->thread.request_stop();
  state_->thread.join();
  state_->heartbeat.remove();
}

void Watchdog::write_evidence(const std::string& verdict) {
  state_->keep_evidence(FlightCause::failure, verdict);
}

}  // namespace dt::comm
