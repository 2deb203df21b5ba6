#pragma once
// The argument of every kernel, unit and collective: where to run, with how many threads, and scratch
// memory.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tensor/arena.hpp"
#include "tensor/arithmetic.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/device/device.hpp"
#include "tensor/device/stream_throttle.hpp"

namespace dt {

/// The context of a rank. On the CPU, work is done when the call returns. On a GPU, calls enqueue
/// work on the context's stream.
class Context {
 public:
  Context(int threads, Device device) : threads_(threads), device_(device), scratch_(device) {
    if (device == Device::host()) return;
    stream_.emplace(device, "computing");
    // A profiler shows host activity beside device activity, so kernels are then enqueued at once,
    // not deferred.
    if (!accelerator().profiler_attached()) accelerator().defer(*stream_);
    throttle_.emplace(*stream_);
  }
  /// Creates a further context of a GPU, for `work` beside the rank's computing. The context defers
  /// no work, and does not bound how far the host runs ahead of it.
  Context(Device device, const std::string& work) : threads_(1), device_(device), scratch_(device) {
    stream_.emplace(device, work);
  }
  Context(const Context&) = delete;

  int threads() const { return threads_; }
  Device device() const { return device_; }
  /// Returns the stream on which work is enqueued; null on the host.
  Stream stream() const { return stream_ ? Stream(*stream_) : nullptr; }
  Arena& scratch() const { return scratch_; }
  /// Blocks until all work enqueued on the stream is done; polls meanwhile. Then instantiates graphs of
  /// repeated work (Accelerator::instantiate_graphs).
  /// Errors: environment, a device fails or hangs (see Accelerator::set_timeout); also what polling
  /// throws.
  void synchronize() const;
  /// Enqueues deferred work. Call before the host waits for something else.
  void flush() const {
    if (stream_) accelerator().flush(*stream_);
  }
  /// Returns whether to run the reference kernels (plain loops) even if faster ones exist; on a GPU,
  /// dt's own kernels even if a library has one. For tests and proofs.
  bool reference_only() const { return reference_only_; }
  void set_reference_only(bool value) { reference_only_ = value; }
  /// Returns the format in which operands are multiplied. It applies to bf16 on a CPU, which must
  /// support it (kernels::supports_arithmetic), and to fp32 on a GPU, as fp32 or TF32.
  Arithmetic arithmetic() const { return arithmetic_; }
  void set_arithmetic(Arithmetic arithmetic) { arithmetic_ = arithmetic; }
  /// Calls the poll function, as messages make no progress by themselves while the rank computes.
  /// The rank's own thread calls poll() between kernels, and within long ones. The poll function
  /// must not compute.
  void poll() const {
    if (poll_) poll_();
  }
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  /// Returns whether the host waits for the device, in finish() or throttle(). Poll functions may
  /// call it.
  bool is_waiting() const { return is_waiting_; }
  /// Polls, and waits if the device is far behind. The same thread calls it before each kernel and
  /// copy.
  /// Errors: as for finish().
  void throttle() const {
    poll();
    if (throttle_) throttle_->wait_if_ahead([this] { poll_waiting(); });
  }

 private:
  /// Polls, with is_waiting() true until the poll returns or throws.
  void poll_waiting() const {
    struct Waiting {
      bool& is_so;
      ~Waiting() { is_so = false; }
    } const waiting{is_waiting_ = true};
    poll();
  }

  int threads_;
  Device device_;
  bool reference_only_ = false;
  Arithmetic arithmetic_ = Arithmetic::fp32;
  std::function<void()> poll_;
  mutable Arena scratch_;
  std::optional<ScopedStream> stream_;  // declared after the arena, so that its work ends first
  mutable std::optional<StreamThrottle> throttle_;
  mutable bool is_waiting_ = false;
};

}  // namespace dt
