#include "comm/core/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <ctime>
#include <thread>

#include "base/system/host.hpp"

using namespace dt::comm;

namespace {

constexpr auto ring_size = static_cast<std::int64_t>(Recorder::capacity);

}  // namespace

TEST_CASE("an operation is recorded from its start to its end") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1, 2});
  recorder.set_step(7);
  CHECK(recorder.oldest_start_s() == 0);
  const auto ticket = recorder.start(group, OperationKind::all_reduce, 400);
  CHECK(recorder.oldest_start_s() > 0);
  auto snapshot = recorder.snapshot();
  REQUIRE(snapshot.in_flight.size() == 1);
  const OperationRecord& record = snapshot.in_flight[0];
  CHECK(record.sequence == 1);
  CHECK(record.group == group);
  CHECK(record.kind == OperationKind::all_reduce);
  CHECK(record.bytes == 400);
  CHECK(record.step == 7);
  CHECK(record.finished_s == 0);
  CHECK(record.started_s == recorder.oldest_start_s());
  CHECK(snapshot.groups[0].started == 1);
  CHECK(snapshot.groups[0].finished == 0);

  recorder.finish(ticket);
  snapshot = recorder.snapshot();
  CHECK(snapshot.in_flight.empty());
  REQUIRE(snapshot.newest.size() == 1);
  CHECK(snapshot.newest[0].finished_s >= snapshot.newest[0].started_s);
  CHECK(snapshot.groups[0].finished == 1);
  CHECK(snapshot.step == 7);
  CHECK(recorder.oldest_start_s() == 0);
}

TEST_CASE("collectives count per group, sends and receives per peer and direction") {
  Recorder recorder;
  const int world = recorder.add_group("world", {0, 1, 2, 3});
  const int pair = recorder.add_group("pair", {0, 2});
  const auto sequence = [&](int group, OperationKind kind, int peer = -1) {
    recorder.finish(recorder.start(group, kind, 8, peer));
    return recorder.snapshot().newest.back().sequence;
  };
  CHECK(sequence(world, OperationKind::barrier) == 1);
  CHECK(sequence(pair, OperationKind::broadcast) == 1);
  CHECK(sequence(world, OperationKind::send, 1) == 1);
  CHECK(sequence(world, OperationKind::send, 1) == 2);
  CHECK(sequence(world, OperationKind::receive, 1) == 1);
  CHECK(sequence(world, OperationKind::send, 3) == 1);
  CHECK(sequence(pair, OperationKind::send, 1) == 1);
  CHECK(sequence(world, OperationKind::all_gather) == 2);
  const auto groups = recorder.snapshot().groups;
  CHECK(groups[0].started == 2);
  CHECK(groups[0].finished == 2);
  REQUIRE(groups[0].peers.size() == 2);
  CHECK(groups[0].peers[0].peer == 1);
  CHECK(groups[0].peers[0].sends == 2);
  CHECK(groups[0].peers[0].receives == 1);
  CHECK(groups[0].peers[1].sends == 1);
}

TEST_CASE("the ring keeps the newest operations in order") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  for (int i = 0; i < ring_size + 10; ++i) {
    recorder.finish(recorder.start(group, OperationKind::all_reduce, i));
  }
  const auto snapshot = recorder.snapshot();
  CHECK(snapshot.operations == ring_size + 10);
  REQUIRE(snapshot.newest.size() == Recorder::capacity);
  for (int i = 0; i < ring_size; ++i) {
    REQUIRE(snapshot.newest[static_cast<std::size_t>(i)].sequence == i + 11);
    REQUIRE(snapshot.newest[static_cast<std::size_t>(i)].finished_s > 0);
  }
}

TEST_CASE("an operation under way is kept however many come after it") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  const auto old = recorder.start(group, OperationKind::receive, 64, 1);
  const double start_s = recorder.oldest_start_s();
  for (int i = 0; i < 3 * ring_size; ++i) {
    recorder.finish(recorder.start(group, OperationKind::all_reduce, 4));
  }
  auto snapshot = recorder.snapshot();
  REQUIRE(snapshot.in_flight.size() == 1);
  CHECK(snapshot.in_flight[0].ticket == old);
  CHECK(snapshot.in_flight[0].bytes == 64);
  CHECK(recorder.oldest_start_s() == start_s);
  recorder.finish(old);
  snapshot = recorder.snapshot();
  CHECK(snapshot.in_flight.empty());
  for (const auto& record : snapshot.newest) REQUIRE(record.kind == OperationKind::all_reduce);
}

TEST_CASE("operations may end in any order, and twice is once") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  const auto a = recorder.start(group, OperationKind::all_reduce, 1);
  const auto b = recorder.start(group, OperationKind::all_gather, 2);
  const auto c = recorder.start(group, OperationKind::barrier, 3);
  recorder.finish(b);
  recorder.finish(b);
  recorder.finish(0);
  auto snapshot = recorder.snapshot();
  REQUIRE(snapshot.in_flight.size() == 2);
  CHECK(snapshot.in_flight[0].ticket == a);
  CHECK(snapshot.in_flight[1].ticket == c);
  CHECK(snapshot.groups[0].finished == 1);
  recorder.finish(a);
  CHECK(recorder.snapshot().in_flight[0].ticket == c);
}

TEST_CASE("bytes add up by kind") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  recorder.start(group, OperationKind::send, 5, 1);
  recorder.start(group, OperationKind::send, 6, 1);
  recorder.start(group, OperationKind::all_reduce, 7);
  CHECK(recorder.bytes(OperationKind::send) == 11);
  CHECK(recorder.bytes(OperationKind::all_reduce) == 7);
  CHECK(recorder.bytes(OperationKind::barrier) == 0);
}

TEST_CASE("readers see whole records while others write") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  constexpr int num_writers = 3;
  constexpr int num_each = 5000;
  std::atomic<int> num_done = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < num_writers; ++writer) {
    writers.emplace_back([&] {
      for (int i = 0; i < num_each; ++i) {
        recorder.set_step(i);
        recorder.finish(recorder.start(group, OperationKind::all_reduce, 12));
      }
      ++num_done;
    });
  }
  bool whole = true;
  do {
    const auto snapshot = recorder.snapshot();
    whole = whole && snapshot.in_flight.size() <= num_writers;
    for (std::size_t i = 0; i < snapshot.newest.size(); ++i) {
      const auto& record = snapshot.newest[i];
      whole = whole && record.bytes == 12 && record.sequence == record.ticket;
      whole = whole && (i == 0 || record.ticket == snapshot.newest[i - 1].ticket + 1);
    }
    recorder.oldest_start_s();
  } while (num_done < num_writers);
  for (auto& thread : writers) thread.join();
  CHECK(whole);
  const auto snapshot = recorder.snapshot();
  CHECK(snapshot.operations == num_writers * num_each);
  CHECK(snapshot.groups[0].finished == num_writers * num_each);
  CHECK(snapshot.in_flight.empty());
}

TEST_CASE("recording is cheap") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  constexpr int count = 100'000;
  double best_s = 1;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::clock_t before = std::clock();  // CPU time, as the machine may be busy
    for (int i = 0; i < count; ++i) {
      recorder.finish(recorder.start(group, OperationKind::all_reduce, 4));
    }
    best_s = std::min(best_s, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  INFO("microseconds each: " << best_s / count * 1e6);
  CHECK(best_s / count < 5e-6);  // usually well below 1 µs
}

TEST_CASE("what begins is kept from when that is asked for, however much, until it is taken") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  const auto before = recorder.start(group, OperationKind::barrier, 0);
  recorder.start_details();
  CHECK_FALSE(recorder.device_clock());
  const auto under_way = recorder.start(group, OperationKind::all_gather, 8);
  for (std::int64_t i = 0; i < 2 * ring_size; ++i)
    recorder.finish(recorder.start(group, OperationKind::all_reduce, i));
  recorder.finish(before);
  const auto kept = recorder.take_details();
  REQUIRE(std::ssize(kept) == 2 * ring_size);
  CHECK(kept.front().bytes == 0);
  CHECK(kept.back().bytes == 2 * ring_size - 1);
  CHECK(std::all_of(kept.begin(), kept.end(), [](const OperationRecord& record) {
    return record.started_s > 0 && record.finished_s >= record.started_s;
  }));
  recorder.finish(under_way);
  CHECK(recorder.take_details().empty());
}

TEST_CASE("an operation that a stream carried out is kept with that stream's times") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  recorder.start_details();
  recorder.finish(recorder.start(group, OperationKind::all_reduce, 8), dt::Interval{3, 5});
  const auto kept = recorder.take_details();
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].started_s == 3);
  CHECK(kept[0].finished_s == 5);
  CHECK(recorder.snapshot().newest[0].started_s != 3);
}
