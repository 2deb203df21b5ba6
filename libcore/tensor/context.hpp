#pragma once
// The argument of every kernel, unit and collective: where to run, with how many threads, and scratch
// memory.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tensor/accelerator.hpp"
#include "tensor/arena.hpp"
#include "tensor/arithmetic.hpp"
#include "tensor/device.hpp"
#include "tensor/run_ahead.hpp"

namespace dt {

/// The context of a rank. On the CPU, work is done when the call returns; a device with streams
/// enqueues.
class Context {
 public:
  Context(int threads, Device device) : threads_(threads), device_(device), scratch_(device) {
    if (device == Device::host()) return;
    stream_.emplace(device, "computing");
    // A profiler draws what the host does beside what the device does, so kernels go to the device
    // where they were asked for.
    if (!accelerator().has_audience()) accelerator().keep_back(*stream_);
    ahead_.emplace(*stream_);
  }
  /// Creates a further context of a GPU, beside that with which a rank computes: for `work`, which is
  /// not waited for before more is enqueued.
  Context(Device device, const std::string& work) : threads_(1), device_(device), scratch_(device) {
    stream_.emplace(device, work);
  }
  Context(const Context&) = delete;

  int threads() const { return threads_; }
  Device device() const { return device_; }
  /// Returns the stream on which a device enqueues what it is given; null on the host.
  Stream stream() const { return stream_ ? Stream(*stream_) : nullptr; }
  Arena& scratch() const { return scratch_; }
  /// Blocks until all work that the device was given is done; polls meanwhile.
  /// Errors: environment, a device fails or hangs (see Accelerator::set_time_limit); also what polling
  /// throws.
  void finish() const;
  /// Starts the work that the device was given. Call before the host waits for something else.
  void start() const {
    if (stream_) accelerator().give_kept(*stream_);
  }
  /// Returns whether to run the reference kernels (plain loops) even if faster ones exist; on a GPU,
  /// dt's own kernels even if a library has one. For tests and proofs.
  bool reference_only() const { return reference_only_; }
  void set_reference_only(bool value) { reference_only_ = value; }
  /// Returns the format in which operands are multiplied: of bf16 on a CPU, what this machine has
  /// (kernels::multiplies_in); of fp32 on a GPU, fp32 or TF32.
  Arithmetic arithmetic() const { return arithmetic_; }
  void set_arithmetic(Arithmetic arithmetic) { arithmetic_ = arithmetic; }
  /// Calls what a computing rank does besides, as messages make no progress by themselves. The rank's
  /// own thread calls it between kernels, and long kernels call it within. The function must not
  /// compute.
  void poll() const {
    if (poll_) poll_();
  }
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  /// Returns whether the host waits for the device, in finish() or keep_pace(). Polls may call it.
  bool is_waiting() const { return is_waiting_; }
  /// Polls, and waits if the device is far behind. The same thread calls it before each kernel and
  /// copy.
  /// Errors: as for finish().
  void keep_pace() const {
    poll();
    if (ahead_) ahead_->next([this] { poll_waiting(); });
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
  std::optional<OwnStream> stream_;  // declared after the arena, so that its work ends first
  mutable std::optional<RunAhead> ahead_;
  mutable bool is_waiting_ = false;
};

}  // namespace dt
