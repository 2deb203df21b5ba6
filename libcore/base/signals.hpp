#pragma once
// Requests to stop, as signals bring them.

#include <atomic>
#include <functional>
#include <signal.h>
#include <thread>

namespace dt {

/// Thrown out of work that a request to stop ends, so that it cleans up as after an error. Its exit code is
/// 128 + the signal.
struct Interrupted {
  int signal;
  int exit_code() const { return 128 + signal; }
};

/// While it lives, SIGTERM, SIGUSR1, SIGHUP (unless the process was started with it ignored) and SIGINT are
/// remembered instead of ending the process; a second SIGINT ends it at once with status 130. So does another
/// signal that follows the first by a second or more, with 128 + its number, until keep_work() is called: a
/// start that hangs (in a file server, a lock, MPI) answers no request, and has nothing to lose. Signals that
/// follow faster are one request that a launcher and Slurm both deliver. A thread of its own takes them, and
/// every other thread blocks them: a handler on a computing thread would not be safe, since generated matmul
/// code may keep its stack pointer in the heap, where the kernel would put the signal's frame. So make it
/// before any other thread. One object per process at a time; the mask returns with its end.
class StopSignals {
 public:
  /// `heard` is told of the first, on the object's own thread.
  explicit StopSignals(std::function<void(int signal)> heard = {});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;

  /// The first signal received, or 0. Cheap enough for every micro-batch.
  int received() const { return first_.load(std::memory_order_relaxed); }
  /// From now on the process answers requests and has work to save, so that only SIGINT ends it at once: a
  /// second SIGTERM (Slurm's at the time limit, after a SIGUSR1) must not end a save that is under way.
  void keep_work() const { keeps_work_.store(true, std::memory_order_relaxed); }
  /// Throws Interrupted where there was one.
  void check() const {
    if (const int signal = received()) throw Interrupted{signal};
  }

 private:
  void listen();

  int signals_ = -1;  // descriptors
  int end_ = -1;
  sigset_t previous_mask_;
  std::atomic<int> first_ = 0;
  mutable std::atomic<bool> keeps_work_ = false;
  std::function<void(int)> heard_;
  std::thread listener_;
};

/// Throws Interrupted where the process's StopSignals received a signal, or one waits that
/// hold_stop_signals() holds back. For code that waits and has no StopSignals at hand.
void check_stop_requests();

/// While it lives, threads that are made block all signals.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t previous_;
};

/// Holds the signals of StopSignals back from now on, until a StopSignals takes them: a request to stop that
/// comes while a program starts must not end it. For the first lines of main().
void hold_stop_signals();

/// "SIGTERM", ...
const char* signal_name(int signal);

}  // namespace dt
