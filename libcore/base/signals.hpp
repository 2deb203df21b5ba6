#pragma once
// Requests to stop, as signals bring them.

namespace dt {

/// While it lives, SIGTERM, SIGUSR1 and SIGINT are remembered instead of ending the process; a second SIGINT
/// ends it at once with status 130. One object per process at a time; previous handlers return with its end.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;

  /// The first signal received, or 0. Async-signal-safe underneath; cheap enough for every micro-batch.
  int received() const;
};

/// "SIGTERM", ...
const char* signal_name(int signal);

}  // namespace dt
