#include "comm/diagnostics/flight.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/system/host.hpp"
#include "base/test_folder.hpp"

using namespace dt::comm;
using dt::ErrorKind;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::put;
using State = HeartbeatReading::State;

namespace {

const FlightProcess writer{.rank = 3, .host = "n4", .process = 123};

void record_some(Recorder& recorder) {
  const int world = recorder.add_group("world", {0, 1, 2, 3});
  const int pair = recorder.add_group("stages", {3, 1});
  recorder.set_step(12);
  recorder.finish(recorder.start(world, OperationKind::all_reduce, 4096));
  recorder.start(world, OperationKind::all_gather, 512);
  recorder.start(pair, OperationKind::receive, 64, 1);
}

void check_receive(const FlightOperation& operation) {
  CHECK(operation.kind == OperationKind::receive);
  CHECK(operation.group == "stages");
  CHECK(operation.sequence == 1);
  CHECK(operation.bytes == 64);
  CHECK(operation.peer == 1);
  CHECK(operation.step == 12);
  CHECK(operation.started_s <= 0);
  CHECK_FALSE(operation.ended_s.has_value());
}

Heartbeat small_heartbeat(std::int64_t beat) {
  return {.writer = writer, .beat = beat, .time = "2026-01-31T12:00:00Z"};
}

}  // namespace

TEST_CASE("a heartbeat survives its text") {
  Recorder recorder;
  record_some(recorder);
  const std::string text = heartbeat_text(make_heartbeat(writer, 57, recorder.snapshot()), 2048);
  CHECK(text.size() == 2048);
  CHECK(text.find('\n') == 2047);
  const auto heartbeat = parse_heartbeat(text);
  REQUIRE(heartbeat);
  CHECK(heartbeat->writer == writer);
  CHECK(heartbeat->beat == 57);
  CHECK(heartbeat->step == 12);
  REQUIRE(heartbeat->last);
  check_receive(*heartbeat->last);
  REQUIRE(heartbeat->groups.size() == 2);
  const FlightGroup& world = heartbeat->groups[0];
  CHECK(world.name == "world");
  CHECK(world.first == 0);
  CHECK(world.size == 4);
  CHECK(world.started == 2);
  CHECK(world.finished == 1);
  REQUIRE(world.under_way.size() == 1);
  CHECK(world.under_way[0].kind == OperationKind::all_gather);
  CHECK(world.under_way[0].sequence == 2);
  const FlightGroup& pair = heartbeat->groups[1];
  CHECK(pair.first == 3);
  CHECK(pair.started == 0);
  REQUIRE(pair.peers.size() == 1);
  CHECK(pair.peers[0].rank == 1);
  CHECK(pair.peers[0].receives == 1);
  CHECK(pair.peers[0].sends == 0);
  REQUIRE(pair.under_way.size() == 1);
  check_receive(pair.under_way[0]);
}

TEST_CASE("what a rank is to the training is known from all that it leaves") {
  Recorder recorder;
  CHECK(describe(make_heartbeat(writer, 1, recorder.snapshot()).writer) == "rank 3 on n4 (process 123)");
  recorder.set_role("stage 1 of 2: layers.1 to head");
  const auto snapshot = recorder.snapshot();
  const auto heartbeat = parse_heartbeat(heartbeat_text(make_heartbeat(writer, 1, snapshot), 0));
  REQUIRE(heartbeat);
  const std::string expected = "rank 3 on n4 (process 123, stage 1 of 2: layers.1 to head)";
  CHECK(describe(heartbeat->writer) == expected);
  const std::string text = evidence_text(make_evidence(writer, FlightCause::failure, "why", snapshot));
  CHECK(describe(parse_evidence(text, "here").writer) == expected);
}

TEST_CASE("a heartbeat tells of the oldest operations under way only") {
  Recorder recorder;
  const int group = recorder.add_group("world", {0, 1});
  for (int i = 0; i < 100; ++i) recorder.start(group, OperationKind::all_reduce, i);
  const Heartbeat heartbeat = make_heartbeat(writer, 1, recorder.snapshot());
  REQUIRE(heartbeat.groups[0].under_way.size() == FlightGroup::max_under_way);
  CHECK(heartbeat.groups[0].under_way[0].sequence == 1);
  CHECK(heartbeat.last->sequence == 100);
}

TEST_CASE("no torn or damaged heartbeat is taken for a whole one") {
  Recorder recorder;
  record_some(recorder);
  const auto snapshot = recorder.snapshot();
  const std::string text = heartbeat_text(make_heartbeat(writer, 57, snapshot), 0);
  REQUIRE(parse_heartbeat(text));
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    REQUIRE_FALSE(parse_heartbeat(text.substr(0, length)));
  }
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    REQUIRE_FALSE(parse_heartbeat(damaged));
  }
  const std::string next = heartbeat_text(make_heartbeat(writer, 58, snapshot), 0);
  REQUIRE(next.size() == text.size());
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const auto mixed = parse_heartbeat(text.substr(0, at) + next.substr(at));
    if (mixed) REQUIRE((mixed->beat == 57 || mixed->beat == 58));
  }
  CHECK_FALSE(parse_heartbeat(""));
  CHECK_FALSE(parse_heartbeat("\n"));
  CHECK_FALSE(parse_heartbeat(std::string(4096, '\0')));
  CHECK_FALSE(parse_heartbeat(std::string(4096, '{')));
}

TEST_CASE("what follows a heartbeat's first line is ignored") {
  CHECK(parse_heartbeat(heartbeat_text(small_heartbeat(1), 300) + "garbage of a longer line")->beat == 1);
}

TEST_CASE("names that are no UTF-8 do not break a heartbeat") {
  Recorder recorder;
  recorder.add_group("a\"\xff\n", {0});
  CHECK(parse_heartbeat(heartbeat_text(make_heartbeat(writer, 1, recorder.snapshot()), 0)));
}

TEST_CASE("a heartbeat file is rewritten in place and removed at the end") {
  const Folder folder;
  const auto path = heartbeat_path(folder.path(), "g3", 3);
  CHECK(path.filename() == "g3.rank-00003.beat");
  CHECK(read_heartbeat(path).state == State::missing);
  HeartbeatFile file(path);
  CHECK(file.write(small_heartbeat(1)));
  const auto size = std::filesystem::file_size(path);
  Heartbeat long_one = small_heartbeat(2);
  long_one.groups.assign(100, FlightGroup{.name = "a group of ranks"});
  CHECK(file.write(long_one));
  CHECK(read_heartbeat(path).heartbeat.groups.size() == 100);
  CHECK(std::filesystem::file_size(path) > size);
  CHECK(file.write(small_heartbeat(3)));
  const auto reading = read_heartbeat(path);
  CHECK(reading.state == State::present);
  CHECK(reading.heartbeat.beat == 3);
  CHECK(reading.heartbeat.groups.empty());
  file.remove();
  CHECK(folder.num_entries() == 0);
}

TEST_CASE("a heartbeat comes back when its file or folder was lost") {
  const Folder folder;
  const auto path = folder / "later" / "g3.rank-00000.beat";
  HeartbeatFile file(path);
  CHECK_FALSE(file.write(small_heartbeat(1)));
  std::filesystem::create_directory(folder / "later");
  CHECK(file.write(small_heartbeat(2)));
  std::filesystem::remove(path);
  CHECK(file.write(small_heartbeat(3)));
  CHECK(read_heartbeat(path).heartbeat.beat == 3);
}

TEST_CASE("a full disk costs a heartbeat and nothing more") {
  const Folder folder;
  const auto path = folder / "g3.rank-00000.beat";
  std::filesystem::create_symlink("/dev/full", path);
  HeartbeatFile file(path);
  CHECK_FALSE(file.write(small_heartbeat(1)));
  CHECK_FALSE(file.write(small_heartbeat(2)));
  std::filesystem::remove(path);
  CHECK(file.write(small_heartbeat(3)));
  CHECK(read_heartbeat(path).heartbeat.beat == 3);
}

TEST_CASE("a heartbeat that never was removes nothing") {
  const Folder folder;
  put(folder / "g3.rank-00000.beat", "another's");
  HeartbeatFile(folder / "g3.rank-00000.beat").remove();
  CHECK(folder.num_entries() == 1);
}

TEST_CASE(
    "garbage in a heartbeat's place is unreadable, and a torn one is read again, also while it is replaced") {
  const Folder folder;
  const auto path = folder / "a";
  for (const std::string text : {"", "{}", "\x00\xff", "{\"format\":\"dt-heartbeat\"}\n"}) {
    put(path, text);
    CHECK(read_heartbeat(path).state == State::unreadable);
  }
  CHECK(read_heartbeat(folder.path()).state == State::unreadable);
  put(path, heartbeat_text(small_heartbeat(1), 0).substr(0, 50));
  std::thread writer_thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::filesystem::remove(path);  // as replacing it does, for a moment
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    HeartbeatFile(path).write(small_heartbeat(2));
  });
  CHECK(read_heartbeat(path).state == State::present);
  writer_thread.join();
}

TEST_CASE("readers never see a heartbeat that was not written, however fast it is rewritten") {
  const Folder folder;
  const auto path = folder / "a";
  HeartbeatFile file(path);
  file.write(small_heartbeat(1));
  std::atomic<bool> stop = false;
  std::thread writer_thread([&] {
    for (std::int64_t beat = 2; !stop; ++beat) {
      Heartbeat heartbeat = small_heartbeat(beat);
      heartbeat.step = beat;
      heartbeat.groups.assign(static_cast<std::size_t>(beat % 40), FlightGroup{.name = "g", .started = beat});
      file.write(heartbeat);
    }
  });
  std::int64_t newest = 0;
  const double begin_s = dt::monotonic_s();
  while (newest < 500 && dt::monotonic_s() < begin_s + 30) {
    const auto reading = read_heartbeat(path);
    if (reading.state != State::present) continue;
    REQUIRE(reading.heartbeat.beat >= newest);
    newest = reading.heartbeat.beat;
    if (newest > 1) REQUIRE(reading.heartbeat.step == newest);
    for (const auto& group : reading.heartbeat.groups) REQUIRE(group.started == newest);
  }
  stop = true;
  writer_thread.join();
  CHECK(newest >= 500);
}

TEST_CASE("evidence holds what is under way, however old, and the newest operations") {
  Recorder recorder;
  record_some(recorder);
  for (std::size_t i = 0; i < Recorder::capacity; ++i) {
    recorder.finish(recorder.start(0, OperationKind::barrier, 0));
  }
  recorder.start(0, OperationKind::broadcast, 9);
  const Folder folder;
  const auto path = evidence_path(folder.path(), "g3", 12345);
  CHECK(path.filename() == "g3.rank-12345.jsonl");
  write_evidence(
      path, make_evidence(writer, FlightCause::timeout, "a \"verdict\"\nof two lines", recorder.snapshot()));
  CHECK(folder.num_entries() == 1);
  const Evidence evidence = read_evidence(path);
  CHECK(evidence.writer == writer);
  CHECK(evidence.cause == FlightCause::timeout);
  CHECK(evidence.verdict == "a \"verdict\"\nof two lines");
  CHECK(evidence.step == 12);
  CHECK(evidence.num_operations == static_cast<std::int64_t>(Recorder::capacity) + 4);
  CHECK(evidence.groups.size() == 2);
  REQUIRE(evidence.operations.size() == Recorder::capacity + 2);
  CHECK(evidence.operations[0].kind == OperationKind::all_gather);
  CHECK_FALSE(evidence.operations[0].ended_s.has_value());
  check_receive(evidence.operations[1]);
  CHECK(evidence.operations[2].ended_s.has_value());
  CHECK(evidence.operations.back().kind == OperationKind::broadcast);
  CHECK(std::is_sorted(evidence.operations.begin(), evidence.operations.end(),
                       [](const auto& a, const auto& b) { return a.started_s < b.started_s; }));
}

TEST_CASE("evidence of a rank without operations is one line") {
  const Recorder recorder;
  const std::string text =
      evidence_text(make_evidence(writer, FlightCause::failure, "why", recorder.snapshot()));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  const Evidence evidence = parse_evidence(text, "a");
  CHECK(evidence.cause == FlightCause::failure);
  CHECK(evidence.operations.empty());
}

TEST_CASE("damaged evidence is refused, naming file and line") {
  const Folder folder;
  Recorder recorder;
  record_some(recorder);
  const std::string text =
      evidence_text(make_evidence(writer, FlightCause::failure, "why", recorder.snapshot()));
  const auto refused = [&](const std::string& damaged, const std::string& says) {
    put(folder / "a", damaged);
    const auto error = caught([&] { read_evidence(folder / "a"); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says((folder / "a").string()));
    CHECK(error.says(says));
  };
  refused("", "line 0");
  refused("[]\n", "line 1");
  refused(text.substr(0, text.size() - 3), "the last line is incomplete");
  refused(text + "{}\n", "line 5");
  std::string other = text;
  other.replace(other.find("\"version\":1"), 11, "\"version\":2");
  refused(other, "version 2");
  CHECK(caught([&] { read_evidence(folder / "none"); }).kind == ErrorKind::input);
}

TEST_CASE("stale heartbeats are those of other starts, and nothing else is removed") {
  const Folder folder;
  for (const char* name : {"g1.rank-00000.beat", "g1.rank-00001.beat", "a.rank-1.b.rank-00002.beat"}) {
    put(folder / name, "");
  }
  const std::vector<std::string> kept = {"g2.rank-00000.beat", "g1.rank-00000.jsonl",
                                         "notes.beat",         "g1.rank-x.beat",
                                         "g1.rank-.beat",      "g1.rank-00000.beat.txt"};
  for (const auto& name : kept) put(folder / name, "");
  remove_stale_heartbeats(folder.path(), "g2");
  CHECK(folder.num_entries() == kept.size());
  for (const auto& name : kept) CHECK(std::filesystem::exists(folder / name));
  remove_stale_heartbeats(folder / "none", "g2");
  if (::geteuid() != 0) return;
  const auto foreign = folder / "g1.rank-00009.beat";
  put(foreign, "");
  REQUIRE((::lchown(foreign.c_str(), 4242, 4242) == 0 && ::chmod(folder.path().c_str(), 0777) == 0));
  remove_stale_heartbeats(folder.path(), "g2");
  CHECK(std::filesystem::exists(foreign));
}
