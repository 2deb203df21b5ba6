#include "comm/diagnostics/diagnosis.hpp"

#include <catch2/catch.hpp>

#include "comm/fake_peer.hpp"

using namespace dt::comm;
using Catch::Contains;
using dt_test::FakeRank;

namespace {

PeerObservation alive(const FakeRank& rank) {
  return {rank.reading(5), rank.reading(8)};
}
PeerObservation silent(const FakeRank& rank) {
  return {rank.reading(5), rank.reading(5)};
}

/// Returns the operation that `self` began first, in which it waits.
StuckOperation stuck(const FakeRank& self) {
  const auto snapshot = self.recorder.snapshot();
  const OperationRecord& record = snapshot.in_flight.at(0);
  return {record, snapshot.groups.at(static_cast<std::size_t>(record.group)), self.writer.rank};
}

struct World {
  FakeRank ranks[4] = {FakeRank(0), FakeRank(1), FakeRank(2), FakeRank(3)};
  World() {
    for (auto& rank : ranks) rank.done(56);
  }
  /// Makes the given ranks enter all_reduce 57.
  void enter(std::initializer_list<int> which) {
    for (const int rank : which) ranks[rank].enter(OperationKind::all_reduce, 4 << 20);
  }
  std::map<int, PeerObservation> all_alive() const {
    return {{1, alive(ranks[1])}, {2, alive(ranks[2])}, {3, alive(ranks[3])}};
  }
  std::string verdict(const std::map<int, PeerObservation>& sightings) const {
    return diagnose(stuck(ranks[0]), 60, sightings);
  }
};

}  // namespace

TEST_CASE("a silent rank is named with host, process and what it was last in") {
  World world;
  world.enter({0, 1, 2});
  auto sightings = world.all_alive();
  sightings[3] = silent(world.ranks[3]);
  CHECK(world.verdict(sightings) ==
        "all_reduce 57 of group world (step 12, 4.0 MiB) did not complete within 60 s: rank 3 on n3 (process "
        "103) "
        "is silent, "
        "last seen after all_reduce 56 of step 12");
  world.enter({3});
  sightings[3] = silent(world.ranks[3]);
  CHECK_THAT(world.verdict(sightings), Contains("is silent, last in all_reduce 57 of step 12"));
}

TEST_CASE("ranks without a heartbeat, or with garbage for one, are silent") {
  World world;
  world.enter({0, 1});
  auto sightings = world.all_alive();
  sightings[2] = {};
  sightings[3] = {.before = {}, .after = {.state = HeartbeatReading::State::unreadable}};
  const auto verdict = world.verdict(sightings);
  CHECK_THAT(verdict,
             Contains("rank 2 is silent, its heartbeat missing; rank 3 is silent, its heartbeat unreadable"));
  CHECK_THAT(verdict, !Contains("rank 1"));
}

TEST_CASE("a heartbeat that vanished between two looks still names its writer") {
  World world;
  world.enter({0, 1, 2});
  auto sightings = world.all_alive();
  sightings[3].after = {};
  CHECK_THAT(world.verdict(sightings), Contains("rank 3 on n3 (process 103) is silent"));
}

TEST_CASE("a heartbeat that has just appeared, or of a new process, is alive") {
  World world;
  PeerObservation sighting{.before = {}, .after = world.ranks[3].reading(1)};
  CHECK_FALSE(sighting.is_silent());
  sighting.before = world.ranks[3].reading(1);
  CHECK(sighting.is_silent());
  sighting.before.heartbeat.writer.process = 99;
  CHECK_FALSE(sighting.is_silent());
}

TEST_CASE("a rank that failed is quoted, one that gave up waiting is no cause") {
  World world;
  world.enter({0, 1, 2, 3});
  auto sightings = world.all_alive();
  sightings[1] = silent(world.ranks[1]);
  sightings[2].after = {};
  sightings[2].evidence = Evidence{.writer = world.ranks[2].writer, .verdict = "the disk is full"};
  sightings[3].after = {};
  sightings[3].evidence =
      Evidence{.writer = world.ranks[3].writer, .cause = FlightCause::timeout, .verdict = "all_"};
  CHECK_THAT(
      world.verdict(sightings),
      Contains(
          ": rank 2 on n2 (process 102) failed: the disk is full; rank 1 on n1 (process 101) is silent, ") &&
          Contains("; rank 3 on n3 (process 103) timed out earlier"));
  sightings[2].evidence->verdict = std::string(10'000, 'x') + "ä";
  CHECK(world.verdict(sightings).size() < 1000);
}

TEST_CASE("a rank that is behind is named with what it does instead") {
  World world;
  world.enter({0, 1});
  const int tensor = world.ranks[2].recorder.add_group("tensor", {2, 3});
  world.ranks[2].recorder.start(tensor, OperationKind::all_gather, 8);
  const auto verdict = world.verdict(world.all_alive());
  // The rank that waits for no other comes first.
  CHECK_THAT(
      verdict,
      Contains(": rank 3 on n3 (process 103) has not entered it: it is in no operation, at step 12, 0.0 s "
               "after it entered all_reduce 56 of step 12; rank 2 on n2 (process 102) has not entered it: "
               "it is in all_gather 1 of group tensor, step 12 for 0.0 s"));
  CHECK_THAT(verdict, !Contains("rank 1"));
}

TEST_CASE("a rank that does not know the group yet is behind") {
  World world;
  const int late = world.ranks[0].recorder.add_group("late", {0, 1, 2, 3});
  world.ranks[0].recorder.start(late, OperationKind::barrier, 0);
  CHECK_THAT(world.verdict(world.all_alive()), Contains("barrier 1 of group late") &&
                                                   Contains("rank 3 on n3 (process 103) has not entered it"));
}

TEST_CASE("of groups that are called alike the newest counts") {
  World world;
  const auto add = [&] {
    for (FakeRank& rank : world.ranks) rank.world = rank.recorder.add_group("data", {0, 1, 2, 3});
  };
  add();
  for (FakeRank& rank : world.ranks) rank.done(5);
  add();
  world.enter({0, 1, 2});
  CHECK_THAT(world.verdict(world.all_alive()),
             Contains(": rank 3 on n3 (process 103) has not entered it") && !Contains("rank 2"));
}

TEST_CASE("another operation in the place of this one is a mismatch") {
  World world;
  world.enter({0, 1});
  world.ranks[2].enter(OperationKind::all_gather, 4 << 20);
  world.ranks[3].enter(OperationKind::all_reduce, 1024);
  CHECK_THAT(
      world.verdict(world.all_alive()),
      Contains(
          ": rank 2 on n2 (process 102) is in a different operation instead: all_gather 57 of step 12, 4.0 "
          "MiB; rank 3 on n3 (process 103) is in a different operation instead: all_reduce 57 of step 12, "
          "1.0 KiB"));
}

TEST_CASE("ranks that give different bytes are in the same all_to_all") {
  World world;
  for (std::size_t rank = 0; rank < 3; ++rank)
    world.ranks[rank].enter(OperationKind::all_to_all, static_cast<std::int64_t>(1000 * rank));
  world.ranks[3].enter(OperationKind::reduce, 3000);
  CHECK_THAT(world.verdict(world.all_alive()),
             Contains("all_to_all") && !Contains("rank 1 on n1") && !Contains("rank 2 on n2") &&
                 Contains(": rank 3 on n3 (process 103) is in a different operation instead: reduce 57"));
}

TEST_CASE("if all have entered it or are past it, no rank is blamed") {
  World world;
  world.enter({0, 1, 2});
  world.ranks[3].recorder.finish(world.ranks[3].enter(OperationKind::all_reduce, 4 << 20));
  world.ranks[3].enter(OperationKind::barrier, 0);
  CHECK_THAT(world.verdict(world.all_alive()), Contains("all its ranks are alive and have entered it"));
}

TEST_CASE("only members count, unless no member is silent") {
  World world;
  const int pair_0 = world.ranks[0].recorder.add_group("pair", {0, 2});
  const int pair_2 = world.ranks[2].recorder.add_group("pair", {0, 2});
  world.ranks[0].recorder.start(pair_0, OperationKind::barrier, 0);
  auto sightings = world.all_alive();
  sightings[1] = {};  // has ended in good order, as far as others know
  CHECK_THAT(world.verdict(sightings), Contains("rank 2 on n2 (process 102) has not entered it") &&
                                           !Contains("rank 1") && !Contains("rank 3"));
  sightings[3] = silent(world.ranks[3]);
  CHECK_THAT(world.verdict(sightings),
             Contains("rank 3 on n3 (process 103) is silent, last seen after all_reduce 56 of group world, "
                      "step 12 (not a member of its group); rank 2 on n2 (process 102) has not entered it"));
  sightings[2] = silent(world.ranks[2]);
  CHECK_THAT(world.verdict(sightings),
             Contains("rank 2 on n2 (process 102) is silent") && !Contains("rank 3"));
  sightings[2] = alive(world.ranks[2]);
  world.ranks[2].recorder.start(pair_2, OperationKind::barrier, 0);
}

TEST_CASE("for a receive, only the peer counts") {
  World world;
  world.ranks[0].enter(OperationKind::receive, 64, 2);
  auto sightings = world.all_alive();
  CHECK_THAT(world.verdict(sightings), Contains("receive 1 from rank 2 of group world (step 12, 64 B) did "
                                                "not complete within 60 s: rank 2 on n2 (process "
                                                "102) has not entered it: it is in no operation") &&
                                           !Contains("rank 1") && !Contains("rank 3"));
  SECTION("sent") {
    world.ranks[2].recorder.finish(world.ranks[2].enter(OperationKind::send, 64, 0));
    sightings[2] = alive(world.ranks[2]);
    CHECK_THAT(world.verdict(sightings), Contains("rank 2 is alive and has entered it too"));
  }
  SECTION("sending to another") {
    world.ranks[2].enter(OperationKind::send, 64, 1);
    sightings[2] = alive(world.ranks[2]);
    CHECK_THAT(world.verdict(sightings),
               Contains("has not entered it: it is in send 1 to rank 1 of step 12"));
  }
  SECTION("both receive") {
    world.ranks[2].enter(OperationKind::receive, 64, 0);
    sightings[2] = alive(world.ranks[2]);
    CHECK_THAT(world.verdict(sightings),
               Contains("has not entered it: it is in receive 1 from rank 0 of step 12"));
  }
  SECTION("sending another length") {
    world.ranks[2].enter(OperationKind::send, 32, 0);
    sightings[2] = alive(world.ranks[2]);
    CHECK_THAT(world.verdict(sightings),
               Contains("is in a different operation instead: send 1 to rank 0 of step 12, 32 B"));
  }
  SECTION("silent") {
    sightings[2] = silent(world.ranks[2]);
    CHECK_THAT(world.verdict(sightings), Contains("rank 2 on n2 (process 102) is silent"));
  }
}

TEST_CASE("at most eight ranks are named") {
  FakeRank self(0, 30);
  self.enter();
  std::map<int, PeerObservation> sightings;
  for (int rank = 1; rank < 21; ++rank) sightings[rank] = silent(FakeRank(rank, 30));
  const auto verdict = diagnose(stuck(self), 0.5, sightings);
  CHECK_THAT(verdict, Contains("did not complete within 0.5 s: rank 1 on n1") && Contains("rank 8 on n8") &&
                          !Contains("rank 9 on n9") && Catch::EndsWith("; and 12 more"));
}
