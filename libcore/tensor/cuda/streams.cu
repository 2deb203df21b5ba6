#include <utility>
#include <vector>

#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/graph.hpp"
#include "tensor/cuda/loading.hpp"
#include "tensor/cuda/streams.hpp"

namespace dt::cuda {

namespace {

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

/// An event of the selected device.
class EventMark final : public TimedMark {
 public:
  EventMark(Streams& streams, cudaEvent_t event, std::string work, TimeLimit& limit)
      : streams_(streams),
        event_(event),
        device_(selected()),
        work_(std::move(work)),
        limit_(limit),
        made_s_(monotonic_s()) {}
  ~EventMark() override { cudaEventDestroy(event_); }
  EventMark(const EventMark&) = delete;
  bool is_reached() override {
    cuda::select(device_);
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) {
      cudaGetLastError();  // not ready is no error
      if (limit_.is_over(made_s_)) limit_.fail(made_s_, name_of(device_), work_);
      return false;
    }
    check(device_, work_.c_str(), error);
    return true;
  }
  void hold_back(Stream stream) override {
    streams_.use(stream,
                 [&] { check(device_, "ordering streams", cudaStreamWaitEvent(native(stream), event_, 0)); });
  }
  double since_s(const TimedMark& other) override {
    float milliseconds = 0;
    cuda::select(device_);
    check(device_, "taking a time",
          cudaEventElapsedTime(&milliseconds, dynamic_cast<const EventMark&>(other).event_, event_));
    return double{milliseconds} * 1e-3;
  }

 private:
  Streams& streams_;
  cudaEvent_t event_;
  Device device_;
  std::string work_;
  TimeLimit& limit_;
  double made_s_;
};

}  // namespace

/// Loads the kernels of a device. Call before anything is enqueued there.
void Streams::load_kernels_once(Device device) {
  const std::lock_guard lock(mutex_);
  if (has_kernels_.contains(device.index())) return;
  load_kernels(device);
  has_kernels_.insert(device.index());
}

Stream Streams::open(Device device, const std::string& work) {
  cuda::select(device);
  load_kernels_once(device);
  cudaStream_t stream = nullptr;
  check(device, "opening a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(reinterpret_cast<Stream>(stream), Known{device, work});
  return reinterpret_cast<Stream>(stream);
}

void Streams::close(Stream stream) {
  try {
    wait(stream);
  } catch (const std::exception&) {
    // Callers that wait for the work get the error, as in settle().
  }
  {
    const std::lock_guard lock(mutex_);  // before another stream may get the same handle
    known_.erase(stream);
  }
  if (!limit_.has_passed()) cudaStreamDestroy(native(stream));
}

void Streams::keep_back(Stream stream) {
  const std::lock_guard lock(mutex_);
  Known& at = known_.at(stream);
  at.kept = std::make_shared<RepeatingWork>(
      [device = at.device, stream](const auto& enqueue) { return capture(device, stream, enqueue); });
}

void Streams::make_graphs(Stream stream) {
  const Known at = known(stream);
  if (at.kept) at.kept->make_graphs();
}

void Streams::give(Stream stream, const WorkKey& key, std::function<void()> enqueue) {
  const Known at = known(stream);
  at.kept ? at.kept->keep(key, std::move(enqueue)) : enqueue();
}

void Streams::copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  use(stream, [&] {
    check(selected(), "copying", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
  });
}

void Streams::copy_on_devices(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  give(stream, WorkKey("copy", to, from, bytes), [=, device = known(stream).device] {
    cuda::select(device);
    check(device, "copying", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
  });
}

void Streams::zero(Stream stream, std::byte* memory, std::size_t bytes) {
  give(stream, WorkKey("zero", memory, bytes), [=, device = known(stream).device] {
    cuda::select(device);
    check(device, "clearing memory", cudaMemsetAsync(memory, 0, bytes, native(stream)));
  });
}

std::unique_ptr<Mark> Streams::mark(Stream stream) {  // without a time the event costs the device less
  return mark(stream, known(stream), cudaEventDisableTiming);
}

std::unique_ptr<TimedMark> Streams::timed_mark(Stream stream) {
  return mark(stream, known(stream), cudaEventDefault);
}

std::unique_ptr<TimedMark> Streams::mark(Stream stream, const Known& at, unsigned flags) {
  cudaEvent_t event = nullptr;
  use(at, [&] {
    check(at.device, "marking", cudaEventCreateWithFlags(&event, flags));
    const cudaError_t error = cudaEventRecord(event, native(stream));
    if (error != cudaSuccess) cudaEventDestroy(event);
    check(at.device, "marking", error);
  });
  return std::make_unique<EventMark>(*this, event, at.work, limit_);
}

void Streams::follow(Stream stream, Stream other) {
  mark(other)->hold_back(stream);
}

void Streams::wait(Stream stream) {
  if (limit_.is_set()) {
    const std::unique_ptr<Mark> end = mark(stream);
    return ask_until([&] { return end->is_reached(); });
  }
  const Known at = known(stream);
  use(at, [] {});
  check(at.device, at.work.c_str(), cudaStreamSynchronize(native(stream)));
}

void Streams::settle(Device device) noexcept {
  // Failed work no longer touches memory.
  const auto attempt = [](const auto& deed) {
    try {
      deed();
    } catch (const std::exception&) {
    }
  };
  std::vector<std::unique_ptr<Mark>> ends;
  {
    const std::lock_guard lock(mutex_);  // no stream is closed while this marks streams
    for (const auto& [stream, at] : known_) {
      if (at.device == device) attempt([&] { ends.push_back(mark(stream, at, cudaEventDisableTiming)); });
    }
  }
  for (const std::unique_ptr<Mark>& end : ends)
    attempt([&] { ask_until([&] { return end->is_reached(); }); });
}

Streams::Known Streams::known(Stream stream) {
  const std::lock_guard lock(mutex_);
  return known_.at(stream);
}

void Streams::use(Stream stream, const std::function<void()>& deed) {
  use(known(stream), deed);
}

void Streams::use(const Known& at, const std::function<void()>& deed) {
  cuda::select(at.device);
  at.kept ? at.kept->use(deed) : deed();
}

}  // namespace dt::cuda
