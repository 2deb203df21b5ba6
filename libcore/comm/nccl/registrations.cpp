#include "comm/nccl/registrations.cuh"

namespace dt::comm::nccl {

ncclResult_t Registrations::add(const Tensor& exchanged) {
  const std::span<std::byte> memory = accelerator().allocations().around(exchanged.raw());
  const std::lock_guard lock(mutex_);
  if (handles_.contains(memory.data())) return ncclSuccess;
  void* handle = nullptr;  // stays null if NCCL has no use for it
  const ncclResult_t result = functions().ncclCommRegister(comm_, memory.data(), memory.size(), &handle);
  if (result == ncclSuccess) handles_.emplace(memory.data(), handle);
  return result;
}

void Registrations::deregister(const std::byte* begin) noexcept {
  const std::lock_guard lock(mutex_);
  const auto place = handles_.find(begin);
  if (place == handles_.end()) return;
  if (place->second != nullptr) functions().ncclCommDeregister(comm_, place->second);
  handles_.erase(place);
}

void Registrations::clear(bool tells_nccl) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, handle] : handles_) {
    if (tells_nccl && handle != nullptr) functions().ncclCommDeregister(comm_, handle);
  }
  handles_.clear();
}

}  // namespace dt::comm::nccl
