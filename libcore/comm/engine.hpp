#pragma once
// Advances all operations of a rank that are under way. A rank has one engine; each thread that
// waits or polls advances all operations.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "comm/active_transports.hpp"
#include "comm/core/operation.hpp"
#include "comm/core/recorder.hpp"
#include "comm/core/transport.hpp"
#include "comm/device_collectives/device_watch.hpp"

namespace dt::comm {

/// Advances the operations of a rank. MPI and TCP make no progress between calls, so operations advance
/// only inside progress(). A rank that waits for one operation advances all, and a computing rank polls
/// between kernels.
/// Errors: an error that a transport throws, for messages or for streams, ends all communication of the
/// rank. Every operation is cancelled, and every later call throws the same error.
/// Thread safety: safe from several threads, by one lock.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Recorder> recorder);
  ~Engine();
  Engine(const Engine&) = delete;
  Recorder& recorder() { return *recorder_; }
  std::shared_ptr<Recorder> shared_recorder() { return recorder_; }
  /// Sets the time after which operations that start from now on fail if they are not done; 0: they
  /// never fail.
  void set_timeout(double seconds);
  double timeout() const { return timeout_s_; }

  void start(std::shared_ptr<Operation> operation);
  /// Advances every operation, and checks those on streams. Cheap if there are none. Never blocks,
  /// not even while another thread advances operations.
  /// Errors: what a transport throws; environment, an operation on a stream is not done in time.
  void progress();
  /// Blocks until the operation is done.
  /// Errors: environment, the operation's time is up (the error names the operation, which is
  /// cancelled; others go on); also what a transport throws.
  void wait(Operation& operation);
  /// Blocks until what a finished operation leaves on a device is there.
  /// Errors: environment, a device that fails or hangs.
  void wait_for_device(Operation& operation);
  /// Returns the operations that streams carry out by themselves; see progress().
  StreamWatch& stream_watch() { return streams_; }
  /// Enqueues an operation on that stream, and begins to watch it.
  /// Errors: those of progress(); also what `enqueue` throws.
  void start(DeviceTransport& transport, Stream stream, const std::shared_ptr<StreamOperation>& operation,
             const std::function<void()>& enqueue);
  /// Stops watching a transport. Call before the transport is destroyed. If an operation of the
  /// transport is under way while an exception unwinds, aborts all transports on streams.
  void detach(DeviceTransport& transport) noexcept;
  /// Blocks until the operation is done, and advances all other operations meanwhile.
  /// Errors: those of progress().
  void wait(const StreamOperation& operation);
  /// Ends an operation for which no caller will wait. Nothing can be taken back from a stream, so all
  /// communication of this rank ends. Does nothing if the operation is done, or if a context has been
  /// made to wait for it.
  void cancel_unwaited(const StreamOperation& operation) noexcept;
  /// Throws the error that has ended all communication of this rank, if there is one.
  void check_alive() const;
  /// Returns the time that wait() has spent so far until the device had computed the operations'
  /// inputs. This time is not communication.
  double waited_for_device_s() const;
  bool idle() const;  // nothing is under way

  /// Returns the link through which operations on device memory go, or null if the rank computes on no
  /// device. See ScopedDevice.
  std::shared_ptr<DeviceLink> device_link() const;
  void set_device_link(std::shared_ptr<DeviceLink> link);

  /// Cancels an operation, which ends without its result. On return nothing touches its buffers any
  /// more, unless a transport cannot take transfers back. Then all communication of this rank ends.
  void cancel(Operation& operation) noexcept;
  /// Cancels an operation for which no caller will wait. While an exception unwinds, all else goes on,
  /// so that other ranks can be told. Otherwise this is a mistake of the program, and all communication
  /// of this rank ends: the messages that peers still send for the operation might be taken for later
  /// ones.
  void cancel_unwaited(Operation& operation) noexcept;
  /// Cancels all operations of a transport. Call before the transport is destroyed.
  void detach(const Transport& transport) noexcept;

 private:
  using Lock = std::unique_lock<std::recursive_mutex>;

  void throw_if_ended() const;
  void wait_until_computed(const Operation& operation);
  [[noreturn]] void throw_late(Operation& operation, double now_s);
  template <class Body>
  void guarded(const Body& body);
  void end(const Error& reason) noexcept;
  bool advance_all();
  bool advance(Operation& operation);
  bool advance(Operation& operation, Operation::Running& running);
  bool begin_round(Operation& operation, Operation::Running& running);
  void begin_sequences(Operation& operation);

  std::shared_ptr<Recorder> recorder_;
  StreamWatch streams_;
  mutable std::recursive_mutex mutex_;
  std::list<std::shared_ptr<Operation>> operations_;
  ActiveTransports active_;
  double timeout_s_ = 0;
  std::atomic<double> waited_for_device_s_ = 0;
  std::shared_ptr<DeviceLink> device_link_;
  std::optional<Error> ended_;
};

/// Sets another timeout while the object lives.
class ScopedTimeout {
 public:
  ScopedTimeout(Engine& engine, double seconds) : engine_(engine), before_s_(engine.timeout()) {
    engine_.set_timeout(seconds);
  }
  ScopedTimeout(const ScopedTimeout&) = delete;
  ~ScopedTimeout() { engine_.set_timeout(before_s_); }

 private:
  Engine& engine_;
  double before_s_;
};

/// Sets where a rank computes while the object lives. Operations on memory of the context's device that
/// are started meanwhile come after the work that the context was given before. With a context on the
/// host, the rank computes on no device.
class ScopedDevice {
 public:
  ScopedDevice(Engine& engine, const Context& context, const PinnedLimits& limits = {})
      : engine_(engine), before_(engine.device_link()) {
    const bool is_host = context.device() == Device::host();
    engine_.set_device_link(is_host ? nullptr : std::make_shared<DeviceLink>(context, limits));
  }
  ScopedDevice(const ScopedDevice&) = delete;
  ~ScopedDevice() { engine_.set_device_link(std::move(before_)); }

 private:
  Engine& engine_;
  std::shared_ptr<DeviceLink> before_;
};

}  // namespace dt::comm
