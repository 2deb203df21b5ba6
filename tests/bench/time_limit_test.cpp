#include "bench/time_limit.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <signal.h>

#include "base/system/host.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

void wait_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("what does not end in time is named, once, on a thread that takes no signals") {
  struct Report {
    Error error;
    bool takes_signals;
  };
  std::promise<Report> promise;
  std::atomic<int> num_calls = 0;
  const double start_s = monotonic_s();
  DeadlineTimer limit(0.3, [&](const Error& error) {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    const bool takes_signals = ::sigismember(&blocked, SIGTERM) == 0;
    if (num_calls++ == 0) promise.set_value({error, takes_signals});
  });
  limit.begin("nothing");
  limit.end();
  limit.begin("all_reduce of 8 bytes by mpi");
  const Report report = promise.get_future().get();
  const double taken_s = monotonic_s() - start_s;
  CHECK(taken_s >= 0.3);
  CHECK(taken_s < 5);
  CHECK(report.error.kind() == ErrorKind::environment);
  CHECK(report.error.what() == std::string("all_reduce of 8 bytes by mpi did not complete within 0.3 s"));
  CHECK(report.error.context().find("--timeout") != std::string::npos);
  CHECK_FALSE(report.takes_signals);
  limit.end();
  limit.begin("another");
  wait_s(0.6);
  CHECK(num_calls == 1);
}

TEST_CASE("what ends in time passes, however much of it there is, and nothing is due between") {
  std::atomic<int> num_calls = 0;
  DeadlineTimer limit(1, [&](const Error&) { ++num_calls; });
  for (int i = 0; i < 6; ++i) {
    limit.begin("a part");
    wait_s(0.2);
    limit.end();
  }
  wait_s(1.1);
  limit.begin("the last part");
  wait_s(0.2);
  limit.end();
  CHECK(num_calls == 0);
}

TEST_CASE("a limit goes at once, however long it is") {
  for (const double seconds : {3600.0, 1e300}) {
    const double start_s = monotonic_s();
    {
      DeadlineTimer limit(seconds, [](const Error&) {});
      limit.begin("something");
      wait_s(0.05);
    }
    CHECK(monotonic_s() - start_s < 5);
  }
}
