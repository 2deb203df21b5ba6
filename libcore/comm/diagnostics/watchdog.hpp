#pragma once
// Notices an operation that does not end, finds out from the other ranks' heartbeats which rank is to
// blame, keeps the evidence and ends the process. Needs no network, only a folder that all ranks share.

#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "comm/core/recorder.hpp"
#include "comm/diagnostics/flight.hpp"

namespace dt::comm {

/// The time by which other timeouts, which cannot name the rank to blame, come after the
/// watchdog's.
inline constexpr double watchdog_grace_s = 30;

struct WatchdogSettings {
  fs::path folder;         // exists; files of former starts are left alone (see remove_stale_heartbeats)
  std::string start_name;  // tells this start's files from others': "g3"
  int rank = 0;
  int size = 1;
  double timeout_s = 600;  // 0: heartbeats only
  double beat_s = 1;
};

/// Watches a rank's operations and writes its files to the folder, see FORMATS.md.
/// `START.rank-00003.beat` is one JSON line, rewritten every beat. `START.rank-00003.jsonl` is a
/// verdict and the ring of operations, written when an operation of this rank times out or the rank
/// fails. A heartbeat that cannot be written is left out and tried again; that never disturbs the
/// work.
class Watchdog {
 public:
  /// Starts to watch. The watchdog's thread calls `on_timeout` once, with an Error{environment}. It
  /// names the operation, its step, and each rank that is silent, is in another operation or has
  /// not entered it, with its host. The evidence is on disk by then. The call comes about three
  /// beats after the timeout, in large groups up to four more. It does not come if the operation
  /// ends meanwhile. `on_timeout` is expected to end the process, must not throw and must not
  /// destroy this object. If it returns, only heartbeats follow. The time that this process was
  /// stopped as a whole (a suspended Slurm job) does not count.
  /// Errors: environment, no thread can be had.
  Watchdog(WatchdogSettings settings, std::shared_ptr<const Recorder> recorder,
           std::function<void(const Error&)> on_timeout);
  /// Ends the thread and removes this rank's heartbeat; evidence stays.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

  /// Writes the same file for the post-mortem of any other failure of this rank. Others find `verdict`
  /// there when they miss this rank. The first evidence stays; later calls do nothing. Never throws;
  /// there is no evidence if it cannot be written.
  /// Thread safety: any thread may call it.
  void write_evidence(const std::string& verdict);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt::comm
