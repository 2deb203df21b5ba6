#include "tensor/cuda/accelerator.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/memory.hpp"
#include "tensor/cuda/nvtx.hpp"
#include "tensor/cuda/streams.hpp"

namespace dt::cuda {

namespace {

class CudaAccelerator final : public Accelerator {
 public:
  std::vector<Gpu> gpus() override { return cuda::gpus(); }
  std::size_t free_bytes(Device device) override { return Memory::free_bytes(device); }
  void select(Device device) override { cuda::select(device); }
  void set_timeout(double seconds) override { limit_.set(seconds); }

  std::byte* allocate(Device device, std::size_t bytes) override {
    std::byte* const memory = memory_.allocate(device, bytes);
    allocations_.add(memory, bytes);
    return memory;
  }
  void release(Device device, std::byte* memory) override {
    streams_.synchronize_device(device);
    const std::size_t bytes = allocations_.remove(memory);
    if (!limit_.has_expired()) memory_.release(device, memory, bytes);
  }
  std::byte* allocate_pinned(std::size_t bytes) override { return Memory::allocate_pinned(bytes); }
  void release_pinned(std::byte* memory) override {
    if (!limit_.has_expired()) Memory::release_pinned(memory);
  }
  void pin(std::byte* memory, std::size_t bytes) override { Memory::pin(memory, bytes); }
  void unpin(std::byte* memory) override {
    if (!limit_.has_expired()) Memory::unpin(memory);
  }

  Stream open_stream(Device device, const std::string& work) override { return streams_.open(device, work); }
  void close_stream(Stream stream) override { streams_.close(stream); }
  void defer(Stream stream) override { streams_.defer(stream); }
  void flush(Stream stream) override {
    streams_.flush_and_run(stream, [] {});
  }
  void instantiate_graphs(Stream stream) override { streams_.instantiate_graphs(stream); }
  void submit(Stream stream, const WorkKey& key, std::function<void()> enqueue) override {
    streams_.submit(stream, key, std::move(enqueue));
  }
  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    const bool is_theirs = allocations_.has(to) && allocations_.has(from);
    is_theirs ? streams_.copy_on_devices(stream, to, from, bytes) : streams_.copy(stream, to, from, bytes);
  }
  void zero(Stream stream, std::byte* memory, std::size_t bytes) override {
    streams_.zero(stream, memory, bytes);
  }
  std::unique_ptr<Event> record_event(Stream stream) override { return streams_.record_event(stream); }
  std::unique_ptr<TimedEvent> record_timed_event(Stream stream) override {
    return streams_.record_timed_event(stream);
  }
  void wait_stream(Stream stream, Stream other) override { streams_.wait_stream(stream, other); }
  void synchronize(Stream stream) override { streams_.synchronize(stream); }

  bool profiler_attached() override { return cuda::profiler_attached(); }
  void begin_range(const std::string& name) override { cuda::begin_range(name); }
  void end_range() override { cuda::end_range(); }

 private:
  DeviceTimeout limit_;
  Memory memory_;
  Streams streams_{limit_};
};

}  // namespace

Accelerator& accelerator() {
  static auto* const the_accelerator =
      new CudaAccelerator;  // never destroyed, as objects may free memory at the program's end
  return *the_accelerator;
}

}  // namespace dt::cuda
