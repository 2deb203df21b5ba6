#pragma once
// The argument of every kernel, unit and collective: where to run, with how many threads, and scratch
// memory. It also bounds how far the host runs ahead of a device.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text/enum_names.hpp"
#include "tensor/arena.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/device/device.hpp"

namespace dt {

/// The bound on how far the host runs ahead of one stream of a device. A driver's queue is bounded
/// (CUDA's holds about a thousand pieces of work). A caller that enqueues more blocks there without
/// a time limit, and sends no messages.
class StreamThrottle {
 public:
  /// The number of kernels between two events; a kernel may be several pieces of work. The first
  /// event comes early, since it enqueues deferred work (Accelerator::defer) on a device that is
  /// still idle.
  static constexpr int kernels_between_events = 64, kernels_before_first_event = 8;

  explicit StreamThrottle(Stream stream) : stream_(stream) {}
  /// Waits if the host is too far ahead, so that at most 2 · kernels_between_events kernels are
  /// under way. Calls `overlapped_work` repeatedly during the wait. Call before each kernel.
  /// Errors: those of Event.
  void wait_if_ahead(const std::function<void()>& overlapped_work);

 private:
  Stream stream_;
  int num_enqueued_ = kernels_between_events - kernels_before_first_event;  // since the last event
  std::unique_ptr<Event> last_event_;
};

/// A format in which elements of matrices are multiplied.
/// Numerics: each format gives its own bits. On a CPU they depend neither on sizes nor on the
/// number of threads.
enum class Arithmetic : std::uint8_t {
  fp32,          // operands are widened to fp32 first
  bf16,          // pairs of bf16 by AVX512_BF16's vdpbf16ps
  amx,           // tiles of bf16 by AMX's tdpbf16ps
  amx_by_loops,  // the bits of amx by plain loops, for tests on processors without AMX
  tf32           // on GPUs: fp32 rounded to TF32 (10 bits of mantissa), with sums in fp32
};

/// The names in options, manifests and messages.
constexpr auto enum_names(Arithmetic) {
  using enum Arithmetic;
  return std::to_array<EnumName<Arithmetic>>(
      {{"fp32", fp32}, {"bf16", bf16}, {"amx", amx}, {"amx-by-loops", amx_by_loops}, {"tf32", tf32}});
}

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
