#pragma once
// What NCCL is told of the memory that a group exchanges, so that network adapters may read and write it in
// place. Within a host that takes memory of another kind (ncclMemAlloc), and nothing changes.

#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "comm/nccl/functions.cuh"
#include "tensor/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::nccl {

/// Of one communicator. NCCL demands that all ranks exchange registered memory or none does: so whatever is
/// exchanged is registered first, the whole of what was allocated with it, once. NCCL_LOCAL_REGISTER=0 makes
/// that say nothing. Memory is forgotten before it is given back; that may be done by any thread as long as
/// it was never exchanged, else by the one that calls NCCL.
class Registrations {
 public:
  explicit Registrations(ncclComm_t comm) : comm_(comm) {}
  Registrations(const Registrations&) = delete;

  /// What NCCL says.
  ncclResult_t add(const Tensor& exchanged);
  /// Forgets all; NCCL is to forget it, too, unless the communicator is gone.
  void clear(bool tells_nccl) noexcept;

 private:
  void forget(const std::byte* begin) noexcept;

  ncclComm_t comm_;
  std::mutex mutex_;
  std::map<const std::byte*, void*> handles_;  // by where memory begins
  Allocations::Watch watch_{accelerator().allocations(),
                            [this](std::span<std::byte> memory) { forget(memory.data()); }};
};

}  // namespace dt::comm::nccl
