#include "base/system/signals.hpp"

#include <array>
#include <cerrno>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/system/host.hpp"

namespace dt {

namespace {

std::atomic<const StopSignals*> in_use = nullptr;

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGUSR1, SIGINT}) sigaddset(&set, signal);
  struct sigaction hangup;
  const bool is_wanted = ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN;
  if (is_wanted) sigaddset(&set, SIGHUP);  // if ignored, the process must outlive its terminal (nohup)
  return set;
}

/// Ends the process and says so. Does not use the console, whose lock a hanging thread may hold.
[[noreturn]] void end_at_once(int signal) {
  const std::string line = fmt::format("{}: error: terminated by a second stop request ({})\n",
                                       program_invocation_short_name, signal_name(signal));
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(128 + signal);
}

int checked(int descriptor) {
  if (descriptor < 0) throw system_error(errno, "create", "a signal descriptor");
  return descriptor;
}

}  // namespace

StopSignals::StopSignals(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
  DT_CHECK(in_use.exchange(this) == nullptr, "a process can have only one StopSignals object at a time");
  const sigset_t set = stop_set();
  signals_ = checked(::signalfd(-1, &set, SFD_CLOEXEC));
  end_ = checked(::eventfd(0, EFD_CLOEXEC));
  ::pthread_sigmask(SIG_BLOCK, &set, &previous_mask_);
  listener_ = std::thread([this] { listen(); });
}

StopSignals::~StopSignals() {
  ::eventfd_write(end_, 1);
  listener_.join();
  ::close(signals_);
  ::close(end_);
  ::pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  in_use = nullptr;
}

void StopSignals::listen() {
  constexpr double one_request_s = 1;
  bool interrupted = false;
  double first_s = 0;
  std::array<pollfd, 2> sources{{{signals_, POLLIN, 0}, {end_, POLLIN, 0}}};
  while (::poll(sources.data(), sources.size(), -1) >= 0 || errno == EINTR) {
    if (sources[1].revents != 0) return;
    signalfd_siginfo info;
    if (::read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGINT && std::exchange(interrupted, true)) end_at_once(signal);
    int none = 0;
    if (first_.compare_exchange_strong(none, signal)) {
      first_s = monotonic_s();
      if (on_signal_) on_signal_(signal);
    } else if (!ignores_repeated_signals_ && signal != SIGINT && monotonic_s() - first_s >= one_request_s) {
      end_at_once(signal);
    }
  }
}

void check_stop_requests() {
  if (const StopSignals* signals = in_use) return signals->check();
  sigset_t pending;
  ::sigpending(&pending);
  const sigset_t stop = stop_set();
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT, SIGHUP}) {
    if (::sigismember(&stop, signal) == 1 && ::sigismember(&pending, signal) == 1) throw Interrupted{signal};
  }
}

ScopedSignalBlock::ScopedSignalBlock() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous_);
}

ScopedSignalBlock::~ScopedSignalBlock() {
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void block_stop_signals() {
  const sigset_t set = stop_set();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "another signal";
  }
}

}  // namespace dt
