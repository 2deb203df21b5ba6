#include <algorithm>
#include <cstring>
#include <cuda_runtime.h>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "tensor/cuda/accelerator.hpp"

namespace dt::cuda {

namespace {

/// What the kernels are compiled for.
constexpr int least_major = 8;

/// 13000 → "13.0"
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Those after which a GPU, or what this process has on it, is of no use any more. Source: CUDA's
/// documentation of cudaError_t.
bool has_failed(cudaError_t error) {
  constexpr cudaError_t failures[] = {
      cudaErrorECCUncorrectable,   cudaErrorNvlinkUncorrectable, cudaErrorHardwareStackError,
      cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,   cudaErrorInvalidPc,
      cudaErrorIllegalAddress,     cudaErrorLaunchFailure,       cudaErrorLaunchTimeout,
      cudaErrorDevicesUnavailable, cudaErrorSystemNotReady,      cudaErrorUnknown};
  return std::ranges::find(failures, error) != std::end(failures);
}

Gpu describe(int index) {
  cudaDeviceProp properties{};
  char address[32] = "";
  int runtime = 0, driver = 0;
  cudaError_t error = cudaGetDeviceProperties(&properties, index);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(address, sizeof address, index);
  if (error != cudaSuccess)
    throw Error(ErrorKind::environment,
                fmt::format("GPU {} does not answer: {}", index, cudaGetErrorString(error)));
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return {.name = properties.name,
          .address = address,
          .major = properties.major,
          .minor = properties.minor,
          .memory_bytes = properties.totalGlobalMem,
          .software = fmt::format("CUDA {}, driver for {}", version_text(runtime), version_text(driver))};
}

/// Error{environment}: why there is none.
int count_gpus() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) throw Error(ErrorKind::environment, "there is no NVIDIA driver");
  if (error == cudaErrorInsufficientDriver) {
    throw Error(ErrorKind::environment,
                fmt::format("the NVIDIA driver is for CUDA {} or older, and this program is of CUDA {}",
                            version_text(driver), version_text(runtime)));
  }
  const auto visible = environment_variable("CUDA_VISIBLE_DEVICES");
  if (visible && (error == cudaSuccess || error == cudaErrorNoDevice))
    throw Error(ErrorKind::environment,
                fmt::format("CUDA_VISIBLE_DEVICES='{}' leaves no GPU to be seen", *visible));
  throw Error(ErrorKind::environment,
              fmt::format("the NVIDIA driver finds no GPU: {}", cudaGetErrorString(error)));
}

void require_recent(const Gpu& gpu) {
  if (gpu.major >= least_major) return;
  throw Error(ErrorKind::environment,
              fmt::format("{} ({}) is of compute capability {}.{}, and dt needs {}.0 or newer", gpu.name,
                          gpu.address, gpu.major, gpu.minor, least_major),
              "choose among GPUs with CUDA_VISIBLE_DEVICES");
}

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

class CudaAccelerator final : public Accelerator {
 public:
  std::vector<Gpu> gpus() override {
    const std::lock_guard lock(mutex_);
    if (!gpus_.empty()) return gpus_;
    std::vector<Gpu> found;
    for (int index = 0, count = count_gpus(); index < count; ++index) {
      found.push_back(describe(index));
      require_recent(found.back());
    }
    return gpus_ = found;
  }
  std::size_t free_bytes(Device device) override { return memory_of(device).free; }

  std::byte* allocate(Device device, std::size_t bytes) override {
    select(device);
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
    if (error == cudaErrorMemoryAllocation) throw short_of_memory(device, bytes);
    check(device, "allocating", error);
    // Streams of ours do not wait for the default one, which clears it.
    check(device, "clearing memory", cudaMemset(memory, 0, bytes));
    check(device, "clearing memory", cudaStreamSynchronize(nullptr));
    const std::lock_guard lock(mutex_);
    sizes_[memory] = bytes;
    held_[device.index()] += bytes;
    return static_cast<std::byte*>(memory);
  }
  /// What goes wrong here was said, or will be, by who waits for work.
  void release(Device device, std::byte* memory) override {
    {
      const std::lock_guard lock(mutex_);  // before another may be given the same address
      held_[device.index()] -= sizes_[memory];
      sizes_.erase(memory);
    }
    cudaSetDevice(device.index());
    cudaDeviceSynchronize();
    cudaFree(memory);
  }
  std::byte* allocate_pinned(std::size_t bytes) override {
    select(Device::gpu(used_));
    void* memory = nullptr;
    const cudaError_t error = cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(ErrorKind::environment, fmt::format("{} has no {} of memory to pin for copies to GPUs",
                                                      host_name(), format_bytes(bytes)));
    }
    check(Device::gpu(used_), "pinning memory of the host", error);
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  void release_pinned(std::byte* memory) override { cudaFreeHost(memory); }

  Stream open_stream(Device device) override {
    select(device);
    cudaStream_t stream = nullptr;
    check(device, "opening a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const std::lock_guard lock(mutex_);
    devices_[stream] = device.index();
    return reinterpret_cast<Stream>(stream);
  }
  void close(Stream stream) override {
    cudaSetDevice(device_of(stream).index());
    {
      const std::lock_guard lock(mutex_);  // before another may be given the same name
      devices_.erase(native(stream));
    }
    cudaStreamSynchronize(native(stream));
    cudaStreamDestroy(native(stream));
  }

  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    const Device device = select(stream);
    check(device, "copying", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
  }
  void zero(Stream stream, std::byte* memory, std::size_t bytes) override {
    const Device device = select(stream);
    check(device, "clearing memory", cudaMemsetAsync(memory, 0, bytes, native(stream)));
  }
  std::unique_ptr<Mark> mark(Stream stream) override { return std::make_unique<CudaMark>(*this, stream); }
  void follow(Stream stream, Stream other) override {
    const CudaMark end(*this, other);
    const Device device = select(stream);
    check(device, "ordering streams", cudaStreamWaitEvent(native(stream), end.event(), 0));
  }
  void wait(Stream stream) override {
    const Device device = select(stream);
    check(device, "waiting", cudaStreamSynchronize(native(stream)));
  }

 private:
  class CudaMark final : public Mark {
   public:
    CudaMark(CudaAccelerator& of, Stream stream) : of_(of), device_(of.select(stream)) {
      of.check(device_, "marking", cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
      const cudaError_t error = cudaEventRecord(event_, native(stream));
      if (error != cudaSuccess) cudaEventDestroy(event_);
      of.check(device_, "marking", error);
    }
    ~CudaMark() override { cudaEventDestroy(event_); }
    CudaMark(const CudaMark&) = delete;
    cudaEvent_t event() const { return event_; }
    bool is_reached() override {
      of_.select(device_);
      const cudaError_t error = cudaEventQuery(event_);
      if (error == cudaErrorNotReady) return false;
      of_.check(device_, "waiting", error);
      return true;
    }

   private:
    CudaAccelerator& of_;
    Device device_;
    cudaEvent_t event_ = nullptr;
  };

  struct Memory {
    std::size_t free = 0, total = 0;
  };
  Memory memory_of(Device device) {
    select(device);
    Memory memory;
    check(device, "asking for its memory", cudaMemGetInfo(&memory.free, &memory.total));
    return memory;
  }

  /// For the calls of this thread that follow. What names no device goes to the one that was used last, so
  /// that no other is opened for it.
  Device select(Device device) {
    used_ = device.index();
    check(device, "opening", cudaSetDevice(device.index()));
    return device;
  }
  Device select(Stream stream) { return select(device_of(stream)); }
  Device device_of(Stream stream) {
    const std::lock_guard lock(mutex_);
    return Device::gpu(devices_.at(native(stream)));
  }

  /// "n1: cuda:0 (NVIDIA H200, 0000:01:00.0)"
  std::string name_of(Device device) {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<std::size_t>(device.index());
    const std::string name = fmt::format("{}: {}", host_name(), device.to_string());
    return index < gpus_.size() ? fmt::format("{} ({}, {})", name, gpus_[index].name, gpus_[index].address)
                                : name;
  }
  void check(Device device, const char* doing, cudaError_t error) {
    if (error == cudaSuccess) return;
    cudaGetLastError();
    throw Error(ErrorKind::environment,
                fmt::format("{}: {}: {} ({})", name_of(device), doing, cudaGetErrorString(error),
                            cudaGetErrorName(error)),
                has_failed(error)
                    ? "the GPU, or work on it, has failed: start the job again, on another node if it "
                      "happens again (dmesg names Xid errors)"
                    : "");
  }
  Error short_of_memory(Device device, std::size_t bytes) {
    cudaGetLastError();
    const Memory memory = memory_of(device);
    const std::string name = name_of(device);
    const std::lock_guard lock(mutex_);
    return Error(ErrorKind::environment,
                 fmt::format("{} has no {} of memory left: of {} {} are free, {} are this process's", name,
                             format_bytes(bytes), format_bytes(memory.total), format_bytes(memory.free),
                             format_bytes(held_[device.index()])),
                 "smaller micro-batches, --recompute or more ranks need less");
  }

  std::mutex mutex_;
  std::vector<Gpu> gpus_;
  std::map<cudaStream_t, int> devices_;
  std::map<const void*, std::size_t> sizes_;
  std::map<int, std::size_t> held_;
  inline static thread_local int used_ = 0;
};

}  // namespace

Accelerator& accelerator() {
  static auto* const the_accelerator =
      new CudaAccelerator;  // outlives whatever still frees at the program's end
  return *the_accelerator;
}

}  // namespace dt::cuda
