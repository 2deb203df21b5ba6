#pragma once
// Registers with NCCL the memory that a group exchanges, so that network adapters may read and
// write it in place. Within a host NCCL needs memory of another kind (ncclMemAlloc) for that, so
// nothing changes there.

#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "comm/nccl/functions.cuh"
#include "tensor/device/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::nccl {

/// The registered memory of one communicator. NCCL requires that either all ranks exchange
/// registered memory, or none. So all exchanged memory is registered first, each allocation as a
/// whole and once. With NCCL_LOCAL_REGISTER=0 registering has no effect. Memory is deregistered
/// before it is freed.
/// Thread safety: any thread may free memory that was never exchanged; only the thread that calls
/// NCCL may free other memory.
class Registrations {
 public:
  explicit Registrations(ncclComm_t comm) : comm_(comm) {}
  Registrations(const Registrations&) = delete;

  /// Registers the allocation in which `exchanged` lies, unless it is registered. Returns NCCL's
  /// result.
  ncclResult_t add(const Tensor& exchanged);
  /// Drops all registrations. With `tells_nccl`, also deregisters them at NCCL; pass false if the
  /// communicator is gone.
  void clear(bool tells_nccl) noexcept;

 private:
  void deregister(const std::byte* begin) noexcept;

  ncclComm_t comm_;
  std::mutex mutex_;
  std::map<const std::byte*, void*> handles_;  // by the allocation's first byte
  Allocations::Watch watch_{accelerator().allocations(),
                            [this](std::span<std::byte> memory) { deregister(memory.data()); }};
};

}  // namespace dt::comm::nccl
