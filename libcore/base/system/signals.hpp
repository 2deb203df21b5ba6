#pragma once
// Stop requests, which arrive as signals.

#include <atomic>
#include <functional>
#include <signal.h>
#include <thread>

namespace dt {

/// Thrown by work that a stop request ends, so that it cleans up as after an error. Its exit code
/// is 128 + the signal.
struct Interrupted {
  int signal;
  int exit_code() const { return 128 + signal; }
};

/// Records stop requests while it lives: SIGTERM, SIGUSR1, SIGINT, and SIGHUP unless the process
/// was started with it ignored. They do not end the process, with these exceptions:
/// - A second SIGINT ends the process at once with status 130.
/// - Until ignore_repeated_signals() is called, another signal that follows the first by a second or
///   more ends the process with 128 + its number. A start that hangs (in a file server, a lock, MPI)
///   answers no request and has nothing to lose. Signals that follow faster count as one request,
///   since a launcher and Slurm may both deliver it.
///
/// A thread of the object takes the signals, and every other thread blocks them. A handler on a
/// computing thread would not be safe. Generated matmul code may point the stack pointer into the
/// heap, and the kernel would put the signal's frame there. So construct the object before any
/// other thread. A process has at most one object at a time. The destructor restores the signal
/// mask.
class StopSignals {
 public:
  /// Calls `on_signal` with the first signal, on the object's own thread.
  explicit StopSignals(std::function<void(int signal)> on_signal = {});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;

  /// Returns the first signal received, or 0. Cheap enough to call for every micro-batch.
  int received() const { return first_.load(std::memory_order_relaxed); }
  /// Declares that the process answers requests and has work to save. From now on only SIGINT ends
  /// it at once. A second SIGTERM (Slurm's at the time limit, after a SIGUSR1) must not end a save
  /// in progress.
  void ignore_repeated_signals() const { ignores_repeated_signals_.store(true, std::memory_order_relaxed); }
  /// Throws Interrupted if a signal was received.
  void check() const {
    if (const int signal = received()) throw Interrupted{signal};
  }

 private:
  void listen();

  int signals_ = -1;  // descriptor
  int end_ = -1;
  sigset_t previous_mask_;
  std::atomic<int> first_ = 0;
  mutable std::atomic<bool> ignores_repeated_signals_ = false;
  std::function<void(int)> on_signal_;
  std::thread listener_;
};

/// Throws Interrupted if the process's StopSignals received a signal, or a signal is pending under
/// block_stop_signals(). For code that waits and has no StopSignals at hand.
void check_stop_requests();

/// While an object lives, new threads start with all signals blocked.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock();
  ~ScopedSignalBlock();
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;

 private:
  sigset_t previous_;
};

/// Blocks the signals of StopSignals until a StopSignals takes them. A stop request that arrives
/// while a program starts must not end it. Call it in the first lines of main().
void block_stop_signals();

/// Returns a signal's name, such as "SIGTERM".
const char* signal_name(int signal);

}  // namespace dt
