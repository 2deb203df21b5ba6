#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <nvtx3/nvToolsExt.h>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "tensor/cuda/accelerator.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/streams.hpp"
#include "tensor/device/device.hpp"

namespace dt::cuda {

namespace {

/// Returns dt's NVTX domain, or null if no profiler is attached.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t the_domain = nvtxDomainCreateA("dt");
  return the_domain;
}

/// Memory of GPUs, and pinned memory of the host, as Accelerator specifies them.
/// Thread safety: safe from several threads.
class Memory {
 public:
  static std::size_t free_bytes(Device device);
  std::byte* allocate(Device device, std::size_t bytes);
  /// Frees memory that nothing uses any more. Ignores errors, as callers that wait for the device's
  /// work get them.
  void release(Device device, std::byte* memory, std::size_t bytes);
  static std::byte* allocate_pinned(std::size_t bytes);
  static void release_pinned(std::byte* memory);
  static void pin(std::byte* memory, std::size_t bytes);
  static void unpin(std::byte* memory);

 private:
  Error is_short(Device device, std::size_t bytes);

  std::mutex mutex_;
  std::map<int, std::size_t> allocated_bytes_;  // by device
};

struct Amount {
  std::size_t free = 0, total = 0;
};

Amount amount_of(Device device) {
  select(device);
  Amount amount;
  check(device, "querying its memory", cudaMemGetInfo(&amount.free, &amount.total));
  return amount;
}

void check_pinned(Device device, std::size_t bytes, cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ErrorKind::environment, fmt::format("{} cannot pin {} of host memory for copies to GPUs",
                                                    host_name(), format_bytes(bytes)));
  }
  check(device, "pinning host memory", error);
}

std::size_t Memory::free_bytes(Device device) {
  return amount_of(device).free;
}

std::byte* Memory::allocate(Device device, std::size_t bytes) {
  select(device);
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
  if (error == cudaErrorMemoryAllocation) throw is_short(device, bytes);
  check(device, "allocating", error);
  // The default stream clears the memory. dt's streams do not wait for it, so the host does.
  check(device, "clearing memory", cudaMemset(memory, 0, bytes));
  check(device, "clearing memory", cudaStreamSynchronize(nullptr));
  const std::lock_guard lock(mutex_);
  allocated_bytes_[device.index()] += bytes;
  return static_cast<std::byte*>(memory);
}

void Memory::release(Device device, std::byte* memory, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    allocated_bytes_[device.index()] -= bytes;
  }
  cudaSetDevice(ordinal_of(device));
  cudaFree(memory);
}

std::byte* Memory::allocate_pinned(std::size_t bytes) {
  const Device device = selected();
  select(device);
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
  check_pinned(device, bytes, error);
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

void Memory::pin(std::byte* memory, std::size_t bytes) {
  const Device device = selected();
  select(device);
  check_pinned(device, bytes,
               cudaHostRegister(memory, std::max<std::size_t>(bytes, 1), cudaHostRegisterPortable));
}

void Memory::unpin(std::byte* memory) {
  cudaHostUnregister(memory);
}

void Memory::release_pinned(std::byte* memory) {
  cudaFreeHost(memory);
}

Error Memory::is_short(Device device, std::size_t bytes) {
  cudaGetLastError();
  const Amount amount = amount_of(device);
  const std::lock_guard lock(mutex_);
  return Error(ErrorKind::environment,
               fmt::format("{}: cannot allocate {}: of {}, {} are free and {} belong to this process",
                           device_label(device), format_bytes(bytes), format_bytes(amount.total),
                           format_bytes(amount.free), format_bytes(allocated_bytes_[device.index()])),
               "use smaller micro-batches, --recompute or more ranks");
}

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

bool profiler_attached() {
  return domain() != nullptr;
}

void begin_range(const std::string& name) {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &range);
}

void end_range() {
  nvtxDomainRangePop(domain());
}

Accelerator& accelerator() {
  static auto* const the_accelerator =
      new CudaAccelerator;  // never destroyed, as objects may free memory at the program's end
  return *the_accelerator;
}

}  // namespace dt::cuda
