#include "base/system/signals.hpp"

#include <catch2/catch.hpp>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_folder.hpp"

using namespace dt;

namespace {

/// Returns the wait status of a child that runs `action`.
int status_of(const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// Sends a signal to the process and waits until the process has taken it.
void send(int signal, const StopSignals& signals) {
  kill(getpid(), signal);
  sigset_t pending;
  do {
    usleep(1000);
    sigpending(&pending);
  } while (sigismember(&pending, signal) || signals.received() == 0);
  usleep(10000);  // a signal that is off the queue may not be remembered yet
}

}  // namespace

TEST_CASE("a signal is remembered, and the first one counts") {
  const StopSignals signals;
  CHECK(signals.received() == 0);
  send(SIGUSR1, signals);
  CHECK(signals.received() == SIGUSR1);
  send(SIGTERM, signals);
  send(SIGTERM, signals);
  CHECK(signals.received() == SIGUSR1);
}

TEST_CASE("a new object starts without a signal") {
  const StopSignals signals;
  CHECK(signals.received() == 0);
}

TEST_CASE("the second interrupt ends the process with status 130") {
  const int status = status_of([] {
    const StopSignals signals;
    send(SIGTERM, signals);
    send(SIGINT, signals);
    if (signals.received() != SIGTERM) _exit(1);
    send(SIGINT, signals);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("a second request ends a start that hangs, and no work that is to be saved") {
  const auto twice = [](bool keeps_work) {
    return status_of([keeps_work] {
      const StopSignals signals;
      if (keeps_work) signals.ignore_repeated_signals();
      send(SIGUSR1, signals);
      send(SIGTERM, signals);  // the same request again
      usleep(1'100'000);
      send(SIGTERM, signals);
      _exit(1);
    });
  };
  const dt_test::Captured err(STDERR_FILENO);
  const int hung = twice(false);
  REQUIRE(WIFEXITED(hung));
  CHECK(WEXITSTATUS(hung) == 128 + SIGTERM);
  CHECK(err.text().find("error: terminated by a second stop request (SIGTERM)\n") != std::string::npos);
  CHECK(WEXITSTATUS(twice(true)) == 1);
}

TEST_CASE("the previous mask returns with the object's end") {
  const int status = status_of([] {
    signal(SIGTERM, SIG_DFL);  // replaces the test framework's handler
    { const StopSignals signals; }
    raise(SIGTERM);
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("a second object at a time is refused") {
  const StopSignals first;
  CHECK(dt_test::caught([] { StopSignals second; }).kind == ErrorKind::internal);
}

TEST_CASE("signals have names") {
  CHECK(std::string(signal_name(SIGTERM)) == "SIGTERM");
  CHECK(std::string(signal_name(SIGUSR1)) == "SIGUSR1");
  CHECK(std::string(signal_name(SIGINT)) == "SIGINT");
}
