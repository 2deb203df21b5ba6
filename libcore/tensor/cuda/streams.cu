#include <utility>
#include <vector>

#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/streams.hpp"

namespace dt::cuda {

namespace {

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

/// On the selected device. Those without a time cost a device less.
class EventMark final : public TimedMark {
 public:
  EventMark(Stream stream, std::string work, TimeLimit& limit, unsigned flags = cudaEventDisableTiming)
      : device_(selected()), work_(std::move(work)), limit_(limit), made_s_(monotonic_s()) {
    check(device_, "marking", cudaEventCreateWithFlags(&event_, flags));
    const cudaError_t error = cudaEventRecord(event_, native(stream));
    if (error != cudaSuccess) cudaEventDestroy(event_);
    check(device_, "marking", error);
  }
  ~EventMark() override { cudaEventDestroy(event_); }
  EventMark(const EventMark&) = delete;
  bool is_reached() override {
    cuda::select(device_);
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) {
      cudaGetLastError();  // it is none
      if (limit_.is_over(made_s_)) limit_.fail(made_s_, name_of(device_), work_);
      return false;
    }
    check(device_, work_.c_str(), error);
    return true;
  }
  void hold_back(Stream stream) override {
    cuda::select(device_);
    check(device_, "ordering streams", cudaStreamWaitEvent(native(stream), event_, 0));
  }
  double since_s(const TimedMark& other) override {
    float milliseconds = 0;
    cuda::select(device_);
    check(device_, "taking a time",
          cudaEventElapsedTime(&milliseconds, dynamic_cast<const EventMark&>(other).event_, event_));
    return double{milliseconds} * 1e-3;
  }

 private:
  Device device_;
  std::string work_;
  TimeLimit& limit_;
  double made_s_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace

Stream Streams::open(Device device, const std::string& work) {
  cuda::select(device);
  cudaStream_t stream = nullptr;
  check(device, "opening a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::lock_guard lock(mutex_);
  known_[reinterpret_cast<Stream>(stream)] = {device.index(), work};
  return reinterpret_cast<Stream>(stream);
}

void Streams::close(Stream stream) {
  try {
    wait(stream);
  } catch (const Error&) {
    // As for settle.
  }
  {
    const std::lock_guard lock(mutex_);  // before another may be given the same name
    known_.erase(stream);
  }
  if (!limit_.has_passed()) cudaStreamDestroy(native(stream));
}

void Streams::copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  const Known at = select(stream);
  check(Device::gpu(at.device), "copying",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
}

void Streams::zero(Stream stream, std::byte* memory, std::size_t bytes) {
  const Known at = select(stream);
  check(Device::gpu(at.device), "clearing memory", cudaMemsetAsync(memory, 0, bytes, native(stream)));
}

std::unique_ptr<Mark> Streams::mark(Stream stream) {
  return std::make_unique<EventMark>(stream, select(stream).work, limit_);
}

std::unique_ptr<TimedMark> Streams::timed_mark(Stream stream) {
  return std::make_unique<EventMark>(stream, select(stream).work, limit_, cudaEventDefault);
}

void Streams::follow(Stream stream, Stream other) {
  EventMark(other, select(other).work, limit_).hold_back(stream);
}

void Streams::wait(Stream stream) {
  if (limit_.is_set()) {
    const std::unique_ptr<Mark> end = mark(stream);
    return ask_until([&] { return end->is_reached(); });
  }
  const Known at = select(stream);
  check(Device::gpu(at.device), at.work.c_str(), cudaStreamSynchronize(native(stream)));
}

void Streams::settle(Device device) noexcept {
  try {
    std::vector<std::unique_ptr<Mark>> ends;
    {
      const std::lock_guard lock(mutex_);  // while they are marked none is closed
      cuda::select(device);
      for (const auto& [stream, at] : known_) {
        if (at.device == device.index()) ends.push_back(std::make_unique<EventMark>(stream, at.work, limit_));
      }
    }
    for (const std::unique_ptr<Mark>& end : ends) ask_until([&] { return end->is_reached(); });
  } catch (const std::exception&) {
    // Work that has failed touches nothing any more.
  }
}

Streams::Known Streams::known(Stream stream) {
  const std::lock_guard lock(mutex_);
  return known_.at(stream);
}

Streams::Known Streams::select(Stream stream) {
  Known at = known(stream);
  cuda::select(Device::gpu(at.device));
  return at;
}

}  // namespace dt::cuda
