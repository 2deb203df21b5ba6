#pragma once
// What every kernel, unit and collective is given: where to run, with how many threads, and scratch memory.

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

/// One per rank. On the CPU, work is done when the call returns; a device with streams enqueues.
class Context {
 public:
  Context(int threads, Device device) : threads_(threads), device_(device), scratch_(device) {
    if (device == Device::host()) return;
    stream_.emplace(device, "computing");
    // Who draws what the host does beside what the device does wants kernels where they were asked for.
    if (!accelerator().has_audience()) accelerator().keep_back(*stream_);
    ahead_.emplace(*stream_);
  }
  /// Beside that with which a rank computes, of a GPU: for `work`, which is not waited for before more is
  /// enqueued.
  Context(Device device, const std::string& work) : threads_(1), device_(device), scratch_(device) {
    stream_.emplace(device, work);
  }
  Context(const Context&) = delete;

  int threads() const { return threads_; }
  Device device() const { return device_; }
  /// Where a device that is not the host enqueues what it is given.
  Stream stream() const { return stream_ ? Stream(*stream_) : nullptr; }
  Arena& scratch() const { return scratch_; }
  /// Until all is done that it was given; polls meanwhile. Errors: environment, of a device that fails or
  /// hangs (see Accelerator::set_time_limit); what polling throws.
  void finish() const;
  /// Before the host waits for something else: a device does meanwhile what it was given.
  void start() const {
    if (stream_) accelerator().give_kept(*stream_);
  }
  /// Run the reference kernels (plain loops) also where faster ones exist, on a GPU dt's own also where a
  /// library has one; for tests and proofs.
  bool reference_only() const { return reference_only_; }
  void set_reference_only(bool value) { reference_only_ = value; }
  /// What operands are multiplied in: bf16 ones on a CPU, in what this machine has
  /// (kernels::multiplies_in); fp32 ones on a GPU, in fp32 or TF32.
  Arithmetic arithmetic() const { return arithmetic_; }
  void set_arithmetic(Arithmetic arithmetic) { arithmetic_ = arithmetic; }
  /// What a computing rank does besides, as messages make no progress by themselves: called by its own thread
  /// between kernels, and by long ones within. It must not compute.
  void poll() const {
    if (poll_) poll_();
  }
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  /// Returns whether the host waits for the device, in finish() or keep_pace(): polls may ask.
  bool is_waiting() const { return is_waiting_; }
  /// Before each kernel and copy, by the same thread: polls, and waits where the device is far behind.
  /// Errors: as of finish.
  void keep_pace() const {
    poll();
    if (ahead_) ahead_->next([this] { poll_waiting(); });
  }

 private:
  /// Polls, and says so. The wait is over where a poll throws.
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
  std::optional<OwnStream> stream_;  // after the arena: its work goes first
  mutable std::optional<RunAhead> ahead_;
  mutable bool is_waiting_ = false;
};

}  // namespace dt
