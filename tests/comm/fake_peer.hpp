#pragma once
// Ranks that consist of a record of operations and heartbeats.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "comm/diagnostics/flight.hpp"

namespace dt_test {

/// The state of a fake rank, changed by the test.
struct FakeRank {
  explicit FakeRank(int rank, int size = 4)
      : writer{.rank = rank, .host = "n" + std::to_string(rank), .process = 100 + rank} {
    std::vector<int> everyone;
    for (int member = 0; member < size; ++member) everyone.push_back(member);
    world = recorder.add_group("world", everyone);
    recorder.set_step(12);
  }
  void done(int count = 1) {
    for (int i = 0; i < count; ++i) {
      recorder.finish(recorder.start(world, dt::comm::OperationKind::all_reduce, 4096));
    }
  }
  dt::comm::Recorder::Ticket enter(dt::comm::OperationKind kind = dt::comm::OperationKind::all_reduce,
                                   std::int64_t bytes = 4096, int peer = -1) {
    return recorder.start(world, kind, bytes, peer);
  }
  dt::comm::Heartbeat heartbeat(std::int64_t beat) const {
    return dt::comm::make_heartbeat(writer, beat, recorder.snapshot());
  }
  /// Returns a reading of its heartbeat. Two readings show a rank that is alive or stands still.
  dt::comm::HeartbeatReading reading(std::int64_t beat) const {
    return {dt::comm::HeartbeatReading::State::present, heartbeat(beat)};
  }

  dt::comm::FlightProcess writer;
  dt::comm::Recorder recorder;
  int world = 0;
};

/// A fake rank that writes heartbeats in a folder while it lives.
class BeatingRank {
 public:
  BeatingRank(std::shared_ptr<FakeRank> rank, const dt::fs::path& folder,
              const std::string& start_name = "g3")
      : file_(dt::comm::heartbeat_path(folder, start_name, rank->writer.rank)), thread_([this, rank] {
          for (std::int64_t beat = 1; !stop_; ++beat) {
            file_.write(rank->heartbeat(beat));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        }) {}
  /// Stops and leaves its last heartbeat, as a killed process does.
  ~BeatingRank() {
    stop_ = true;
    thread_.join();
  }
  BeatingRank(const BeatingRank&) = delete;

 private:
  dt::comm::HeartbeatFile file_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace dt_test
