#pragma once
// The work that the simulated NCCL enqueues: steps of a group, whose messages pass through shared boxes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/nccl/library.hpp"
#include "device/nccl/shared_boxes.hpp"
#include "device/nccl/stand_in.hpp"
#include "device/test_device.hpp"

namespace dt::test_device {

// Faults to come, and what tests count.
extern std::atomic<long> operations_to_fault;
extern std::atomic<NcclFault> fault_to_come;
extern std::atomic<long> num_registrations;
extern std::atomic<long> num_communicators;
extern std::atomic<int> most_ctas;
extern std::atomic<long> num_connections;

/// The CTAs that one rank's operations hold of its GPU.
class CtaBudget {
 public:
  void begin(int ctas);
  void end(int ctas) { ctas_ -= ctas; }

 private:
  std::atomic<int> ctas_ = 0;
};

/// A communicator. It lives as long as any of its work is in a stream.
struct Group {
  int rank = 0, size = 0;
  std::string name;
  std::unique_ptr<SharedBoxes> boxes{};
  std::function<bool()> splits{};  // the split in progress; returns true once it has ended
  std::atomic<ncclResult_t> state = ncclSuccess;
  std::atomic<bool> is_aborted = false;
  int num_splits = 0;
  int ctas = unlimited_ctas;  // per operation
  std::shared_ptr<CtaBudget> held =
      std::make_shared<CtaBudget>();               // the rank's, in all groups split from one
  std::map<std::byte*, std::size_t> registered{};  // bytes by beginning
  std::set<std::string> connected{};               // operations, with their peers

  /// Checks that all exchanged memory is registered, or none is. All ranks must register theirs before the
  /// first exchange.
  void check_registered(const void* memory, std::size_t count) const;
  void connect(const std::string& operation) {
    num_connections += connected.insert(operation).second ? 1 : 0;
  }
  void join() { boxes = std::make_unique<SharedBoxes>("/" + name, rank, size); }
  /// Returns whether all ranks have arrived and the split in progress, if any, has ended.
  bool is_ready();
};
using SharedGroup = std::shared_ptr<Group>;

/// A message to or from a rank; a header holds its length.
struct Message {
  Message(std::byte* memory_, std::uint64_t bytes_) : memory(memory_), bytes(bytes_) {}
  std::byte* memory;
  std::uint64_t bytes;
  std::size_t done = 0;   // bytes of header and memory
  std::uint64_t end = 0;  // position in the box, once all bytes were sent

  std::size_t length() const { return sizeof bytes + bytes; }
  /// Moves as many bytes as the box takes. Returns whether the message is sent and read.
  bool sends(Box& box);
  /// Moves as many bytes as the box has. Returns whether the message is received.
  bool receives(Box& box);

 private:
  std::uint64_t header = 0;
};

/// Transfers of one group call, which are done together.
struct Step {
  SharedGroup group;
  Stream stream = nullptr;
  std::map<int, std::deque<Message>> sends{}, receives{};  // by peer, in order
  std::function<void()> then{};
  std::vector<std::shared_ptr<Buffer>> memory{};  // host memory
  bool is_broken = false;
  bool has_begun = false, has_ended = false;

  void send(int peer, const void* memory_, std::size_t bytes) {
    group->check_registered(memory_, bytes);
    sends[peer].emplace_back(static_cast<std::byte*>(const_cast<void*>(memory_)), bytes);
  }
  void receive(int peer, void* memory_, std::size_t bytes) {
    group->check_registered(memory_, bytes);
    receive_on_host(peer, memory_, bytes);
  }
  void receive_on_host(int peer, void* memory_, std::size_t bytes) {
    receives[peer].emplace_back(static_cast<std::byte*>(memory_), bytes);
  }
  /// Returns whether the step is over; the device polls it while it works.
  bool is_over();

 private:
  /// Moves what the boxes take and have. Returns whether nothing is left to move.
  bool moves();
};

/// Enqueues the step in its stream, or breaks it if it is the operation to fault.
void enqueue_step(Step&& step);

}  // namespace dt::test_device
