#pragma once
// One per rank: all operations under way, advanced together by whoever has time.

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/device_side.hpp"
#include "comm/operation_name.hpp"
#include "comm/recorder.hpp"
#include "comm/streams/watch.hpp"
#include "comm/transport.hpp"

namespace dt::comm {

/// Transfers that are started together, and what to do when all are done and, where asked, something else is
/// ready: what other ranks do in shared memory. That is asked often, must not block, and stays true; after
/// `then` others may be ready, too (Transport::notify).
struct Stage {
  struct Transfer {
    int peer;
    std::span<std::byte> bytes;
    bool is_send;
  };
  std::vector<Transfer> transfers;
  std::function<bool()> ready = {};
  std::function<void()> then = {};
};

/// Stages one after the other, each made when the one before is done; false: there is no such stage. What a
/// rank sends another along a chain, that one receives in the same order. What a chain owns (staging memory)
/// lives from just before its first stage to the end of its last.
using Chain = std::function<bool(int index, Stage& stage)>;

/// A started operation: chains that run side by side, at most `window` at once. Chain c of every rank of the
/// group exchanges messages with chain c of the others.
struct Operation : OperationName {
  enum class State { under_way, done, given_up };
  struct Running {
    std::size_t number = 0;  // of the chain
    Chain chain;
    int next_stage = 0;
    Stage current;
    Pending pending = 0;
  };

  Transport* transport = nullptr;
  int tag = 0;  // to which the chain's number is added, below 2^10
  std::function<Chain(std::size_t number)> make_chain;
  std::size_t num_chains = 0;
  std::size_t window = 4;
  // Chains of a transport's operations take turns, oldest first, where they count: no more than bucket_bytes
  // are under way at a time (0: any), of which each takes chain_bytes (0: it does not count).
  std::size_t chain_bytes = 0;
  std::size_t bucket_bytes = 0;
  /// Where its tensors lie on a device; it begins when that says so, and so do those behind it in its lane.
  std::shared_ptr<DeviceSide> device = {};
  bool takes_turns() const { return chain_bytes > 0 && bucket_bytes > 0; }
  /// What must begin in the order of calls, for one's messages might be taken for another's, and those behind
  /// wait for memory of those in front: sends to a peer, what is received of it, all else of the group.
  int lane() const { return peer < 0 ? 0 : 1 + 2 * peer + (kind == OperationKind::send ? 0 : 1); }

  Recorder::Ticket ticket = 0;

  // The engine's.
  bool has_begun = false;
  std::list<Running> running;
  std::size_t next_chain = 0;
  double started_s = 0;
  double deadline_s = 0;
  std::atomic<State> state = State::under_way;

  bool is_done() const { return state == State::done; }
};

/// MPI and TCP make no progress between calls, so operations advance only inside progress(): a rank that
/// waits for one advances all, and a computing rank polls between kernels. Thread-safe by one lock.
///
/// What a transport throws, messages' or streams', ends all communication of the rank: every operation is
/// given up, and every later call throws the same error.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Recorder> recorder);
  ~Engine();
  Engine(const Engine&) = delete;
  Recorder& recorder() { return *recorder_; }
  std::shared_ptr<Recorder> shared_recorder() { return recorder_; }
  /// Operations that begin from now on fail when they are not done after this time; 0: they never do.
  void set_timeout(double seconds);
  double timeout() const { return timeout_s_; }

  void start(std::shared_ptr<Operation> operation);
  /// Advances every operation, and looks at those of streams; cheap where there is none. Never blocks, not
  /// even where another thread is advancing them. Errors: what a transport throws, and of an operation on a
  /// stream that is not done in time.
  void progress();
  /// Blocks until the operation is done. Errors: environment where its time is up, naming it (it is then
  /// given up; others go on); what a transport throws.
  void wait(Operation& operation);
  /// Of an operation that is done: blocks until what it leaves on a device is there. Errors: environment, of
  /// a device that fails or hangs.
  void wait_for_device(Operation& operation);
  /// What streams carry out by themselves; see progress().
  StreamWatch& streams() { return streams_; }
  /// Enqueues it on that stream, and begins to watch it. Errors: those of progress(), what `enqueue` throws.
  void start(StreamTransport& transport, Stream stream, const std::shared_ptr<StreamOperation>& operation,
             const std::function<void()>& enqueue);
  /// Before the transport goes. While an exception unwinds, what is under way is aborted.
  void forget(StreamTransport& transport) noexcept;
  /// Blocks until it is done, and advances everything else meanwhile. Errors: as of progress().
  void wait(const StreamOperation& operation);
  /// Ends what nobody will wait for: nothing can be taken back from a stream, so all communication of this
  /// rank ends. Where something that it follows was computed after it, nothing needs to.
  void abandon(const StreamOperation& operation) noexcept;
  /// Error: why all communication of this rank has ended, if it has.
  void check_alive() const;
  /// How long wait() took so far until the device had computed what was waited for: no communication.
  double waited_for_device_s() const;
  bool idle() const;  // nothing is under way

  /// Through which operations on the memory of a device go; nullptr where the rank computes on none. See
  /// ComputesOn.
  std::shared_ptr<DeviceLink> device_link() const;
  void set_device_link(std::shared_ptr<DeviceLink> link);

  /// Ends an operation without its result: on return nothing touches its buffers any more, except where a
  /// transport cannot take transfers back; then all communication of this rank ends.
  void give_up(Operation& operation) noexcept;
  /// Gives up an operation that nobody will wait for. While an exception unwinds, all else goes on, so that
  /// others can be told. Otherwise that is a mistake of the program: the messages that peers still send for
  /// it might be taken for later ones, so all communication of this rank ends.
  void abandon(Operation& operation) noexcept;
  /// Gives up all operations of a transport, which is about to go.
  void forget(const Transport& transport) noexcept;

 private:
  using Lock = std::unique_lock<std::recursive_mutex>;
  struct ActiveTransport {
    Transport* transport;
    int num_operations = 0;
    int num_begun = 0;
    std::map<int, std::list<Operation*>> to_begin =
        {};                           // of a lane: one that waits for its device, and all behind it
    std::size_t bytes_under_way = 0;  // of operations that take turns
    std::list<Operation*> still_beginning = {};  // those with chains to begin
  };

  void throw_if_ended() const;
  void wait_until_computed(const Operation& operation);
  [[noreturn]] void throw_late(Operation& operation, double now_s);
  template <class Body>
  void guarded(const Body& body);
  void end(const Error& reason) noexcept;
  bool advance_all();
  bool begins(Operation& operation);
  void begin(Operation& operation, ActiveTransport& active);
  bool some_wait_for_a_device() const;
  bool advance(Operation& operation);
  bool advance(Operation& operation, Operation::Running& running);
  bool begin_stage(Operation& operation, Operation::Running& running);
  void begin_chains(Operation& operation);
  ActiveTransport& active_of(const Operation& operation);
  bool may_begin_chain(const Operation& operation);
  void count_chain(Operation& operation, bool begins);
  void add_active(Operation& operation);
  void remove_active(Operation& operation);

  std::shared_ptr<Recorder> recorder_;
  StreamWatch streams_;
  mutable std::recursive_mutex mutex_;
  std::list<std::shared_ptr<Operation>> operations_;
  std::vector<ActiveTransport> active_;
  std::atomic<int> num_operations_ = 0;
  double timeout_s_ = 0;
  std::atomic<double> waited_for_device_s_ = 0;
  std::shared_ptr<DeviceLink> device_link_;
  std::optional<Error> ended_;
};

/// Another timeout, until it goes.
class Patience {
 public:
  Patience(Engine& engine, double seconds) : engine_(engine), before_s_(engine.timeout()) {
    engine_.set_timeout(seconds);
  }
  Patience(const Patience&) = delete;
  ~Patience() { engine_.set_timeout(before_s_); }

 private:
  Engine& engine_;
  double before_s_;
};

/// Says where a rank computes, until it goes: operations on memory of the context's device that are started
/// meanwhile come after what that was given before. Of a context on the host it says nothing.
class ComputesOn {
 public:
  ComputesOn(Engine& engine, const Context& context, const PortionLimits& limits = {})
      : engine_(engine), before_(engine.device_link()) {
    const bool is_host = context.device() == Device::host();
    engine_.set_device_link(is_host ? nullptr : std::make_shared<DeviceLink>(context, limits));
  }
  ComputesOn(const ComputesOn&) = delete;
  ~ComputesOn() { engine_.set_device_link(std::move(before_)); }

 private:
  Engine& engine_;
  std::shared_ptr<DeviceLink> before_;
};

}  // namespace dt::comm
