#include <algorithm>
#include <cstring>

#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/memory.hpp"

namespace dt::cuda {

namespace {

struct Amount {
  std::size_t free = 0, total = 0;
};

Amount amount_of(Device device) {
  select(device);
  Amount amount;
  check(device, "asking for its memory", cudaMemGetInfo(&amount.free, &amount.total));
  return amount;
}

void check_pinned(Device device, std::size_t bytes, cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ErrorKind::environment, fmt::format("{} has no {} of memory to pin for copies to GPUs",
                                                    host_name(), format_bytes(bytes)));
  }
  check(device, "pinning memory of the host", error);
}

}  // namespace

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
               fmt::format("{} has no {} of memory left: of {} {} are free, {} are this process's",
                           device_label(device), format_bytes(bytes), format_bytes(amount.total),
                           format_bytes(amount.free), format_bytes(allocated_bytes_[device.index()])),
               "smaller micro-batches, --recompute or more ranks need less");
}

}  // namespace dt::cuda
