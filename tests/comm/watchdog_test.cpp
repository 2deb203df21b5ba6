#include "comm/diagnostics/watchdog.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <optional>
#include <signal.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/system/host.hpp"
#include "base/test_folder.hpp"
#include "comm/fake_peer.hpp"

using namespace dt::comm;
using Catch::Contains;
using dt_test::BeatingRank;
using dt_test::FakeRank;
using dt_test::Folder;

namespace {

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Rank 0 of four under a watchdog, with peers that the test adds.
struct Watched {
  explicit Watched(double timeout_s = 0.5) : settings{folder.path(), "g3", 0, 4, timeout_s, 0.2} {
    group = recorder->add_group("world", {0, 1, 2, 3});
    recorder->set_step(12);
  }
  void start() {
    watchdog = std::make_unique<Watchdog>(settings, recorder, [this](const dt::Error& error) {
      const std::lock_guard lock(mutex);
      ++num_calls;
      what = error.what();
      context = error.context();
      kind = error.kind();
    });
  }
  /// Adds a peer that has entered `num_entered` all_reduces; all but the last are done.
  std::shared_ptr<FakeRank> add_peer(int rank, int num_entered) {
    peers.push_back(std::make_shared<FakeRank>(rank));
    peers.back()->done(num_entered - 1);
    if (num_entered > 0) peers.back()->enter();
    beating.push_back(std::make_unique<BeatingRank>(peers.back(), folder.path()));
    return peers.back();
  }
  /// Returns what on_timeout is told; fails if the call does not come in time.
  std::string verdict() {
    const double begin_s = dt::monotonic_s();
    while (dt::monotonic_s() < begin_s + settings.timeout_s + 100) {
      {
        const std::lock_guard lock(mutex);
        if (num_calls > 0) return what;
      }
      sleep_s(0.02);
    }
    FAIL("no timeout within ten seconds of the time");
    return {};
  }
  int calls() {
    const std::lock_guard lock(mutex);
    return num_calls;
  }

  Folder folder;
  WatchdogSettings settings;
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  int group = 0;
  std::vector<std::shared_ptr<FakeRank>> peers;
  std::vector<std::unique_ptr<BeatingRank>> beating;
  std::mutex mutex;
  int num_calls = 0;
  std::string what;
  std::string context;
  dt::ErrorKind kind = dt::ErrorKind::internal;
  std::unique_ptr<Watchdog> watchdog;  // declared last: it calls back
};

}  // namespace

TEST_CASE("the heartbeat is there from the beginning, beats, and goes with the watchdog") {
  Watched watched;
  watched.start();
  const auto path = heartbeat_path(watched.folder.path(), "g3", 0);
  const auto first = read_heartbeat(path);
  REQUIRE(first.state == HeartbeatReading::State::present);
  CHECK(first.heartbeat.writer == FlightProcess{0, dt::host_name(), ::getpid()});
  const double begin_s = dt::monotonic_s();
  while (read_heartbeat(path).heartbeat.beat < first.heartbeat.beat + 3) {
    REQUIRE(dt::monotonic_s() < begin_s + 100);
    sleep_s(0.02);
  }
  watched.watchdog.reset();
  CHECK(watched.folder.num_entries() == 0);
  CHECK(watched.calls() == 0);
}

TEST_CASE("the watchdog ends at once, however long its beat") {
  Watched watched;
  watched.settings.beat_s = 3600;
  watched.start();
  watched.watchdog.reset();  // otherwise this test does not end
  CHECK(watched.folder.num_entries() == 0);
}

TEST_CASE("operations that end in time are left in peace, however many") {
  Watched watched(1.0);
  watched.start();
  const double begin_s = dt::monotonic_s();
  while (dt::monotonic_s() < begin_s + 2.5) {
    const auto ticket = watched.recorder->start(watched.group, OperationKind::all_reduce, 4);
    sleep_s(0.05);
    watched.recorder->finish(ticket);
  }
  CHECK(watched.calls() == 0);
}

TEST_CASE("an operation that ends while the others are looked at is left in peace") {
  Watched watched(0.5);
  watched.settings.beat_s = 0.8;  // a look takes two seconds
  watched.start();
  const auto ticket = watched.recorder->start(watched.group, OperationKind::all_reduce, 4);
  sleep_s(1.2);
  watched.recorder->finish(ticket);
  sleep_s(2.5);
  CHECK(watched.calls() == 0);
  CHECK_FALSE(std::filesystem::exists(evidence_path(watched.folder.path(), "g3", 0)));
}

TEST_CASE("a timeout of 0 never strikes") {
  Watched watched(0);
  watched.start();
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4);
  sleep_s(1);
  CHECK(watched.calls() == 0);
}

TEST_CASE("a silent rank and one without a heartbeat are found, once, with evidence") {
  Watched watched;
  watched.add_peer(1, 1);
  HeartbeatFile(heartbeat_path(watched.folder.path(), "g3", 2)).write(FakeRank(2).heartbeat(77));
  watched.start();
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  CHECK(watched.verdict() ==
        "all_reduce 1 of group world (step 12, 4.0 KiB) did not complete within 0.5 s: rank 2 on n2 (process "
        "102) "
        "is silent, "
        "last seen before its first operation; rank 3 is silent, its heartbeat missing");
  CHECK(watched.kind == dt::ErrorKind::environment);
  const auto path = evidence_path(watched.folder.path(), "g3", 0);
  CHECK_THAT(watched.context, Contains(path.string()));
  const Evidence evidence = read_evidence(path);
  CHECK(evidence.cause == FlightCause::timeout);
  CHECK(evidence.verdict == watched.what);
  CHECK(evidence.operations.size() == 1);

  const auto beat = [&] {
    return read_heartbeat(heartbeat_path(watched.folder.path(), "g3", 0)).heartbeat.beat;
  };
  const auto before = beat();
  sleep_s(2);
  CHECK(watched.calls() == 1);
  CHECK(beat() > before);  // the rank does nothing, but is alive
  watched.watchdog.reset();
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("a rank that is behind is found") {
  Watched watched;
  watched.add_peer(1, 2);
  watched.add_peer(2, 1);
  watched.add_peer(3, 2);
  watched.start();
  watched.recorder->finish(watched.recorder->start(watched.group, OperationKind::all_reduce, 4096));
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  const auto verdict = watched.verdict();
  CHECK_THAT(
      verdict,
      Contains("all_reduce 2 of group world (step 12, 4.0 KiB) did not complete within 0.5 s: rank 2 on n2 "
               "(process 102) has not entered it: it is in all_reduce 1 of step 12 for "));
  CHECK_THAT(verdict, !Contains("rank 1") && !Contains("rank 3"));
}

TEST_CASE("a rank in another operation is found") {
  Watched watched;
  watched.add_peer(1, 1);
  watched.add_peer(2, 0)->enter(OperationKind::broadcast, 4096);
  watched.add_peer(3, 1);
  watched.start();
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  CHECK_THAT(watched.verdict(),
             Contains(": rank 2 on n2 (process 102) is in a different operation instead: broadcast 1"));
}

TEST_CASE("says so if no rank is to blame") {
  Watched watched;
  for (int rank = 1; rank < 4; ++rank) watched.add_peer(rank, 1);
  watched.start();
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  CHECK_THAT(watched.verdict(), Contains("all its ranks are alive and have entered it"));
}

TEST_CASE("the oldest operation counts, though many end after it") {
  Watched watched;
  watched.add_peer(3, 0);
  watched.start();
  watched.recorder->start(watched.group, OperationKind::receive, 64, 3);
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      watched.recorder->finish(watched.recorder->start(watched.group, OperationKind::all_reduce, 4));
      sleep_s(0.0001);
    }
  });
  const auto verdict = watched.verdict();
  stop = true;
  worker.join();
  CHECK_THAT(verdict, Contains("receive 1 from rank 3 of group world (step 12, 64 B)"));
  CHECK_THAT(verdict, Contains("rank 3 on n3 (process 103) has not entered it"));
  CHECK(read_evidence(evidence_path(watched.folder.path(), "g3", 0)).operations[0].kind ==
        OperationKind::receive);
}

TEST_CASE("all ranks of a group accuse the one that is stopped, and not each other") {
  const Folder folder;
  constexpr int size = 4;
  std::mutex mutex;
  std::vector<std::string> verdicts;
  std::vector<std::unique_ptr<Watchdog>> watchdogs;
  HeartbeatFile(heartbeat_path(folder.path(), "g3", 3)).write(FakeRank(3).heartbeat(9));
  for (int rank = 0; rank < size - 1; ++rank) {
    auto recorder = std::make_shared<Recorder>();
    recorder->start(recorder->add_group("world", {0, 1, 2, 3}), OperationKind::barrier, 0);
    watchdogs.push_back(std::make_unique<Watchdog>(
        WatchdogSettings{folder.path(), "g3", rank, size, 0.5, 0.2}, recorder, [&](const dt::Error& error) {
          const std::lock_guard lock(mutex);
          verdicts.push_back(error.what());
        }));
  }
  const double begin_s = dt::monotonic_s();
  for (std::size_t count = 0; count < size - 1 && dt::monotonic_s() < begin_s + 100; sleep_s(0.05)) {
    const std::lock_guard lock(mutex);
    count = verdicts.size();
  }
  watchdogs.clear();
  REQUIRE(verdicts.size() == size - 1);
  for (const auto& verdict : verdicts) {
    CHECK_THAT(verdict, Contains("did not complete within 0.5 s: rank 3 on n3 (process 103) is silent") &&
                            !Contains(";"));
  }
}

TEST_CASE("evidence of a failure is written from any thread and quoted by those that miss the rank") {
  Watched watched;
  watched.add_peer(1, 1);
  watched.add_peer(2, 1);
  watched.start();
  {
    Watchdog failing({watched.folder.path(), "g3", 3, 4}, std::make_shared<Recorder>(),
                     [](const dt::Error&) {});
    std::thread([&] { failing.write_evidence("a loss that is no number"); }).join();
    failing.write_evidence("a consequence");
  }
  CHECK(read_evidence(evidence_path(watched.folder.path(), "g3", 3)).cause == FlightCause::failure);
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  CHECK_THAT(watched.verdict(),
             Contains("(process " + std::to_string(::getpid()) + ") failed: a loss that is no number"));
}

TEST_CASE("evidence that an earlier process left is not believed") {
  Watched watched;
  watched.add_peer(1, 1);
  watched.add_peer(2, 1);
  HeartbeatFile(heartbeat_path(watched.folder.path(), "g3", 3)).write(FakeRank(3).heartbeat(9));
  write_evidence(evidence_path(watched.folder.path(), "g3", 3),
                 Evidence{.writer = {3, "n3", 99}, .verdict = "old"});
  watched.start();
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  CHECK_THAT(watched.verdict(), Contains("rank 3 on n3 (process 103) is silent"));
}

TEST_CASE("without its folder the watchdog still strikes, and says that there is no evidence") {
  Watched watched;
  watched.settings.folder = watched.folder / "file";
  dt_test::put(watched.settings.folder, "");
  watched.start();
  watched.watchdog->write_evidence("nowhere");
  watched.recorder->start(watched.group, OperationKind::all_reduce, 4096);
  CHECK_THAT(watched.verdict(), Contains("rank 1 is silent, its heartbeat missing"));
  CHECK_THAT(watched.context, Contains("cannot write the record of operations"));
}

TEST_CASE("the watchdog's thread takes no signals") {
  Watched watched;
  sigset_t usr2;
  sigset_t previous;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  watched.start();
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGUSR2) == 0);  // the caller's mask is unchanged
  ::pthread_sigmask(SIG_BLOCK, &usr2, &previous);
  // The default action ends the process if any thread takes the signal.
  REQUIRE(::kill(::getpid(), SIGUSR2) == 0);
  int taken = 0;
  REQUIRE(::sigwait(&usr2, &taken) == 0);
  CHECK(taken == SIGUSR2);
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}
