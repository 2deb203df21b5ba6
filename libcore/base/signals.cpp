#include "base/signals.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <signal.h>
#include <unistd.h>

#include "base/error.hpp"

namespace dt {

namespace {

constexpr std::array handled = {SIGTERM, SIGUSR1, SIGINT};

// A handler reaches nothing but globals; StopSignals owns these.
std::atomic<bool> in_use = false;
std::atomic<int> first_signal = 0;
std::atomic<bool> interrupted = false;
std::array<struct sigaction, handled.size()> previous;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void remember(int signal) {
  if (signal == SIGINT && interrupted.exchange(true)) ::_exit(130);
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

}  // namespace

StopSignals::StopSignals() {
  DT_CHECK(!in_use.exchange(true), "a process has one StopSignals at a time");
  first_signal = 0;
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // reads and writes go on
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < handled.size(); ++i) sigaction(handled[i], &action, &previous[i]);
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < handled.size(); ++i) sigaction(handled[i], &previous[i], nullptr);
  in_use = false;
}

int StopSignals::received() const {
  return first_signal.load(std::memory_order_relaxed);
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
