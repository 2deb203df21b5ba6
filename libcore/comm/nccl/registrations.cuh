#pragma once
// Tells NCCL of the memory that a group exchanges, so that network adapters may read and write it in
// place. Within a host NCCL needs memory of another kind (ncclMemAlloc) for that, so nothing changes there.

#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "comm/nccl/functions.cuh"
#include "tensor/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::nccl {

/// The registered memory of one communicator. NCCL demands that all ranks exchange registered memory,
/// or none does. So whatever is exchanged is registered first: the whole of what was allocated with it,
/// once. With NCCL_LOCAL_REGISTER=0 registering has no effect. Memory is forgotten before it is given
/// back.
/// Thread safety: any thread may give back memory that was never exchanged; other memory is given back
/// by the thread that calls NCCL.
class Registrations {
 public:
  explicit Registrations(ncclComm_t comm) : comm_(comm) {}
  Registrations(const Registrations&) = delete;

  /// Registers what was allocated with `exchanged`, unless it is registered. Returns NCCL's result.
  ncclResult_t add(const Tensor& exchanged);
  /// Forgets all memory. `tells_nccl` makes NCCL forget it, too, unless the communicator is gone.
  void clear(bool tells_nccl) noexcept;

 private:
  void forget(const std::byte* begin) noexcept;

  ncclComm_t comm_;
  std::mutex mutex_;
  std::map<const std::byte*, void*> handles_;  // by the beginning of memory
  Allocations::Watch watch_{accelerator().allocations(),
                            [this](std::span<std::byte> memory) { forget(memory.data()); }};
};

}  // namespace dt::comm::nccl
