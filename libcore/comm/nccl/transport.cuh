#pragma once
// Wraps NCCL's communicators, their registered memory and their abort: the code that calls NCCL.

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "comm/device_collectives/device_transport.hpp"
#include "comm/nccl/functions.cuh"
#include "tensor/device/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::nccl {

/// Aborts communicators whose peers may not know of the failure; ignores null ones. NCCL frees the
/// GPU at once. It may then wait for peers on this host, which learn of the abort only when this rank
/// ends. So the function waits a few seconds for the abort, which may then go on by itself.
/// Source: NCCL User Guide, "ncclCommAbort".
void abort_all(std::vector<ncclComm_t> comms) noexcept;

/// The registered memory of one communicator. Network adapters may read and write it in place. Within a
/// host NCCL needs memory of another kind (ncclMemAlloc) for that, so nothing changes there. NCCL
/// requires that either all ranks exchange registered memory, or none. So all exchanged memory is
/// registered first, each allocation as a whole and once. With NCCL_LOCAL_REGISTER=0 registering has no
/// effect. Memory is deregistered before it is freed.
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

/// A group's NCCL communicator, which is nonblocking. A rank waits for others for a limited time,
/// and then reports for whom it waits. Only nonblocking communicators may be aborted while a call
/// of ncclGroupEnd hangs. ncclCommAbort joins the thread of a nonblocking NCCL group
/// (ncclGroupJobAbort). A blocking one runs in its caller's thread, which NCCL does not know, and
/// the communicator would be freed while the caller uses it.
/// Source: NCCL User Guide, Fault Tolerance, asks for this; the source of 2.19, 2.28 and 2.30 agrees
/// (src/group.cc, src/init.cc).
class NcclTransport final : public DeviceTransport {
 public:
  /// Connects as rank `rank` of `size`.
  /// Collective: all ranks call it, with the id that one of them has made.
  NcclTransport(const ncclUniqueId& id, int rank, int size, Device device, double timeout_s,
                DeviceGroupUse use);
  ~NcclTransport() override;
  NcclTransport(const NcclTransport&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Device device() const override { return device_; }
  void exchange(Stream stream, std::span<const Transfer> transfers) override;
  void broadcast(Stream stream, const Tensor& data, int root) override;
  void all_gather(Stream stream, const Tensor& in, const Tensor& out) override;
  void all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) override;
  void reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction, int root) override;
  void reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) override;
  void check() override;
  void abort() noexcept override;
  /// Returns the communicator for abort_all, and makes this object unusable. Returns null if the
  /// communicator was released or aborted before.
  ncclComm_t release_communicator() noexcept;
  std::unique_ptr<DeviceTransport> split(std::optional<int> color, int key, DeviceGroupUse use) override;

 private:
  /// Takes over a communicator that is being split from another.
  NcclTransport(ncclComm_t comm, Device device, double timeout_s);
  void select() const;
  /// Waits until NCCL has done its part on this host. Once ranks are connected, the watchdog can
  /// name the rank to blame, so its timeout comes first.
  void wait_settled(const char* what, ncclResult_t result);
  void connect();
  void meet();
  /// Prepares an operation on these tensors.
  void begin(std::initializer_list<Tensor> tensors);
  void enroll(const Tensor& data);
  [[noreturn]] void fail(const char* what, ncclResult_t result) const;
  [[noreturn]] void fail_late(const char* what, double since_s) const;

  Device device_;
  double timeout_s_;
  ncclComm_t comm_ = nullptr;
  int rank_ = 0, size_ = 0;
  std::atomic<bool> is_aborted_ = false;
  std::optional<Registrations> registrations_;  // present once connected
};

}  // namespace dt::comm::nccl
