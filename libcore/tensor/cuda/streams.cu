#include "tensor/cuda/check.cuh"
#include "tensor/cuda/streams.hpp"

namespace dt::cuda {

namespace {

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

/// On the selected device.
class EventMark final : public Mark {
 public:
  explicit EventMark(Stream stream) : device_(selected()) {
    check(device_, "marking", cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    const cudaError_t error = cudaEventRecord(event_, native(stream));
    if (error != cudaSuccess) cudaEventDestroy(event_);
    check(device_, "marking", error);
  }
  ~EventMark() override { cudaEventDestroy(event_); }
  EventMark(const EventMark&) = delete;
  cudaEvent_t event() const { return event_; }
  bool is_reached() override {
    cuda::select(device_);
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) return false;
    check(device_, "waiting", error);
    return true;
  }

 private:
  Device device_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace

Stream Streams::open(Device device) {
  cuda::select(device);
  cudaStream_t stream = nullptr;
  check(device, "opening a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::lock_guard lock(mutex_);
  devices_[reinterpret_cast<Stream>(stream)] = device.index();
  return reinterpret_cast<Stream>(stream);
}

void Streams::close(Stream stream) {
  cudaSetDevice(device_of(stream).index());
  {
    const std::lock_guard lock(mutex_);  // before another may be given the same name
    devices_.erase(stream);
  }
  cudaStreamSynchronize(native(stream));
  cudaStreamDestroy(native(stream));
}

void Streams::copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  const Device device = select(stream);
  check(device, "copying", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
}

void Streams::zero(Stream stream, std::byte* memory, std::size_t bytes) {
  const Device device = select(stream);
  check(device, "clearing memory", cudaMemsetAsync(memory, 0, bytes, native(stream)));
}

std::unique_ptr<Mark> Streams::mark(Stream stream) {
  select(stream);
  return std::make_unique<EventMark>(stream);
}

void Streams::follow(Stream stream, Stream other) {
  select(other);
  const EventMark end(other);
  const Device device = select(stream);
  check(device, "ordering streams", cudaStreamWaitEvent(native(stream), end.event(), 0));
}

void Streams::wait(Stream stream) {
  const Device device = select(stream);
  check(device, "waiting", cudaStreamSynchronize(native(stream)));
}

Device Streams::device_of(Stream stream) {
  const std::lock_guard lock(mutex_);
  return Device::gpu(devices_.at(stream));
}

Device Streams::select(Stream stream) {
  const Device device = device_of(stream);
  cuda::select(device);
  return device;
}

}  // namespace dt::cuda
