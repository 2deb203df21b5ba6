#pragma once
// Notices an operation that does not end, finds out from the other ranks' heartbeats who is to blame, keeps
// the evidence and ends the process. Needs no network, only a folder that all ranks share.

#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "comm/flight.hpp"
#include "comm/recorder.hpp"

namespace dt::comm {

/// For so much longer than a watchdog's timeout others wait, who do not know who is to blame.
inline constexpr double watchdog_grace_s = 30;

struct WatchdogSettings {
  fs::path folder;         // exists; files of former starts are left alone (see remove_stale_heartbeats)
  std::string start_name;  // tells this start's files from others': "g3"
  int rank = 0;
  int size = 1;
  double timeout_s = 600;  // 0: heartbeats only
  double beat_s = 1;
};

/// Files in the folder, see FORMATS.md: `START.rank-00003.beat`, one JSON line rewritten every beat;
/// `START.rank-00003.jsonl`, a verdict and the ring of operations, written when this rank's waiting or work
/// comes to a bad end. A heartbeat that cannot be written is left out and tried again: that never hurts the
/// work.
class Watchdog {
 public:
  /// `on_timeout` is called once, on the watchdog's thread, with what happened (Error{environment}): which
  /// operation, of which step, and each rank that is silent, is in another operation or has not entered it,
  /// with its host; the evidence is on disk by then. It comes about three beats after the timeout, in large
  /// groups up to four more, and not at all where the operation ends meanwhile. It is expected to end the
  /// process, must not throw and must not destroy this object. If it returns, nothing but heartbeats follows.
  /// The time that this process was stopped as a whole (a suspended Slurm job) does not count.
  /// Errors: environment, where no thread can be had.
  Watchdog(WatchdogSettings settings, std::shared_ptr<const Recorder> recorder,
           std::function<void(const Error&)> on_timeout);
  /// Ends the thread and removes this rank's heartbeat; evidence stays.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

  /// For the post-mortem of any other failure of this rank: writes the same file, where others find `verdict`
  /// when they miss this rank. The first evidence stays; later calls do nothing. From any thread. Never
  /// throws: where it cannot be written there is none.
  void write_evidence(const std::string& verdict);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt::comm
