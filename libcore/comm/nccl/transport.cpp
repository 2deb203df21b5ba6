#include "comm/nccl/transport.cuh"

#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/diagnostics/watchdog.hpp"
#include "comm/nccl/library.hpp"
#include "tensor/buffer.hpp"
#include "tensor/device/device_timeout.hpp"

namespace dt::comm::nccl {

namespace {

constexpr std::chrono::seconds longest_wait(3);

void abort_now(const std::vector<ncclComm_t>& comms) noexcept {
  functions().ncclGroupStart();
  for (const ncclComm_t comm : comms) functions().ncclCommAbort(comm);
  functions().ncclGroupEnd();
}

// The time that an idle communicator may take to close; after it, the communicator is aborted.
constexpr double longest_goodbye_s = 10;

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return ncclFloat64;
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::i64:
      return ncclInt64;
    case DType::i32:
      return ncclInt32;
    case DType::u64:
      return ncclUint64;
    case DType::u32:
      return ncclUint32;
    case DType::u16:
    case DType::u8:
      break;
  }
  DT_CHECK(false, "NCCL does not combine {}", dtype_name(dtype));
  return ncclUint8;
}

/// A number of elements and their type. For data that are only moved, the dtype does not matter.
struct Count {
  std::size_t count;
  ncclDataType_t type;
};
Count bytes_of(const Tensor& tensor) {
  return {tensor.bytes(), ncclUint8};
}

/// Returns the whole configuration of a communicator. Groups do not inherit that of the group that
/// they are split from. config_fields names the fields that are set here.
ncclConfig_t config_for(DeviceGroupUse use) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (max_ctas(use) > 0) config.maxCTAs = max_ctas(use);
  config.splitShare = 0;  // own channels: shared ones would have the whole group's limit
  return config;
}

ncclRedOp_t op_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::product:
      return ncclProd;
    case Reduction::min:
      return ncclMin;
    case Reduction::max:
      break;
  }
  return ncclMax;
}

}  // namespace

void abort_all(std::vector<ncclComm_t> comms) noexcept {
  std::erase(comms, nullptr);
  if (comms.empty()) return;
  try {
    const auto ended = std::make_shared<std::promise<void>>();
    std::thread([comms, ended] {
      abort_now(comms);
      ended->set_value();
    }).detach();
    ended->get_future().wait_for(longest_wait);
  } catch (const std::exception&) {
    abort_now(comms);  // no thread can be started
  }
}

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

NcclTransport::NcclTransport(const ncclUniqueId& id, int rank, int size, Device device, double timeout_s,
                             DeviceGroupUse use)
    : device_(device), timeout_s_(timeout_s), rank_(rank), size_(size) {
  select();
  ncclConfig_t config = config_for(use);
  try {
    wait_settled("ncclCommInitRankConfig",
                 functions().ncclCommInitRankConfig(&comm_, size, id, rank, &config));
    connect();
  } catch (...) {
    abort();
    throw;
  }
}

NcclTransport::NcclTransport(ncclComm_t comm, Device device, double timeout_s)
    : device_(device), timeout_s_(timeout_s), comm_(comm) {
  try {
    wait_settled("ncclCommSplit", ncclInProgress);
    functions().ncclCommUserRank(comm_, &rank_);
    functions().ncclCommCount(comm_, &size_);
    connect();
  } catch (...) {
    abort();
    throw;
  }
}

/// Leaves the communicator open while an exception unwinds, as the program then ends. The peers do
/// not know of the error, and closing the communicator may wait for them.
NcclTransport::~NcclTransport() {
  if (is_aborted_ || comm_ == nullptr || std::uncaught_exceptions() > 0) return;
  registrations_->clear(true);
  ncclResult_t state = functions().ncclCommFinalize(comm_);
  const double since_s = monotonic_s();
  while (state == ncclInProgress && monotonic_s() - since_s < longest_goodbye_s) {
    poll_backoff(monotonic_s() - since_s);
    functions().ncclCommGetAsyncError(comm_, &state);
  }
  if (state == ncclSuccess) {
    functions().ncclCommDestroy(comm_);
  } else {
    abort();
  }
}

void NcclTransport::begin(std::initializer_list<Tensor> tensors) {
  select();
  for (const Tensor& tensor : tensors) enroll(tensor);
}

void NcclTransport::enroll(const Tensor& data) {
  if (registrations_) wait_settled("ncclCommRegister", registrations_->add(data));
}

/// Exchanges first messages between two ranks, now that both are here. At its first message to a
/// peer, NCCL blocks the host until the peer comes. If two ranks share several groups, each rank
/// might begin with another group, and both would block. In larger groups all ranks begin
/// operations in the same order.
void NcclTransport::connect() {
  if (size_ == 2) meet();
  registrations_.emplace(comm_);
}

void NcclTransport::meet() {
  const Buffer memory(device_, 2 * 256);
  const ScopedStream stream(device_, "connecting ranks");
  const Tensor out(memory, DType::u8, {1}), in(memory, DType::u8, {1}, 256);
  const int peer = 1 - rank_;
  exchange(stream, std::array{Transfer{peer, out, true}, Transfer{peer, in, false}});
  const std::unique_ptr<Event> end = accelerator().record_event(stream);
  const double since_s = monotonic_s();
  try {
    poll_until([&] {
      check();
      if (timeout_s_ > 0 && monotonic_s() - since_s > timeout_s_) fail_late("connecting", since_s);
      return end->is_complete();
    });
  } catch (...) {
    abort();  // before the stream waits for work that would never end
    throw;
  }
}

void NcclTransport::select() const {
  if (is_aborted_)
    throw Error(ErrorKind::environment,
                fmt::format("{}: {}: NCCL was aborted", host_name(), device_.to_string()));
  accelerator().select(device_);
}

void NcclTransport::fail(const char* what, ncclResult_t result) const {
  const char* const said = functions().ncclGetLastError(comm_);
  const std::string details = said != nullptr && *said != '\0' ? fmt::format(" ({})", said) : "";
  throw Error(ErrorKind::environment,
              fmt::format("{}: {}: {}: {}{}", host_name(), device_.to_string(), what,
                          functions().ncclGetErrorString(result), details),
              result == ncclRemoteError ? "another rank has ended or cannot be reached"
                                        : "set NCCL_DEBUG=WARN for details");
}

void NcclTransport::fail_late(const char* what, double since_s) const {
  throw Error(ErrorKind::environment,
              fmt::format("{}: {}: {} of rank {} of {} did not complete within {:.1f} s", host_name(),
                          device_.to_string(), what, rank_, size_, monotonic_s() - since_s),
              "another rank has not entered it or cannot be reached: NCCL_DEBUG=INFO shows the network "
              "interfaces that NCCL uses");
}

void NcclTransport::wait_settled(const char* what, ncclResult_t result) {
  const double since_s = monotonic_s(), grace_s = registrations_ ? watchdog_grace_s : 0;
  while (result == ncclInProgress) {
    const double waited_s = monotonic_s() - since_s;
    if (timeout_s_ > 0 && waited_s > timeout_s_ + grace_s) fail_late(what, since_s);
    if (overlapped_work_) overlapped_work_();
    poll_backoff(waited_s);
    const ncclResult_t asked = functions().ncclCommGetAsyncError(comm_, &result);
    if (asked != ncclSuccess) result = asked;
  }
  if (result != ncclSuccess) fail(what, result);
}

void NcclTransport::exchange(Stream stream, std::span<const Transfer> transfers) {
  select();
  for (const Transfer& transfer : transfers) enroll(transfer.data);
  wait_settled("ncclGroupStart", functions().ncclGroupStart());
  ncclResult_t result = ncclSuccess;
  for (const Transfer& transfer : transfers) {
    const auto [count, type] = bytes_of(transfer.data);
    std::byte* const memory = transfer.data.raw();
    const ncclResult_t one =
        transfer.is_send ? functions().ncclSend(memory, count, type, transfer.peer, comm_, native(stream))
                         : functions().ncclRecv(memory, count, type, transfer.peer, comm_, native(stream));
    if (one != ncclSuccess && one != ncclInProgress) result = one;
  }
  const ncclResult_t ended = functions().ncclGroupEnd();
  wait_settled("ncclSend and ncclRecv", result == ncclSuccess ? ended : result);
}

void NcclTransport::broadcast(Stream stream, const Tensor& data, int root) {
  begin({data});
  const auto [count, type] = bytes_of(data);
  wait_settled("ncclBroadcast",
               functions().ncclBroadcast(data.raw(), data.raw(), count, type, root, comm_, native(stream)));
}

void NcclTransport::all_gather(Stream stream, const Tensor& in, const Tensor& out) {
  begin({in, out});
  const auto [count, type] = bytes_of(in);
  wait_settled("ncclAllGather",
               functions().ncclAllGather(in.raw(), out.raw(), count, type, comm_, native(stream)));
}

void NcclTransport::all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) {
  begin({in, out});
  wait_settled("ncclAllReduce",
               functions().ncclAllReduce(in.raw(), out.raw(), static_cast<std::size_t>(in.numel()),
                                         type_of(in.dtype()), op_of(reduction), comm_, native(stream)));
}

void NcclTransport::reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction,
                           int root) {
  begin({in});
  if (rank_ == root) enroll(out);
  wait_settled("ncclReduce",
               functions().ncclReduce(in.raw(), out.raw(), static_cast<std::size_t>(in.numel()),
                                      type_of(in.dtype()), op_of(reduction), root, comm_, native(stream)));
}

void NcclTransport::reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) {
  begin({in, out});
  wait_settled("ncclReduceScatter",
               functions().ncclReduceScatter(in.raw(), out.raw(), static_cast<std::size_t>(out.numel()),
                                             type_of(in.dtype()), op_of(reduction), comm_, native(stream)));
}

void NcclTransport::check() {
  if (is_aborted_) return;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = functions().ncclCommGetAsyncError(comm_, &state);
  if (asked != ncclSuccess) fail("ncclCommGetAsyncError", asked);
  if (state != ncclSuccess && state != ncclInProgress) fail("an operation in progress", state);
}

void NcclTransport::abort() noexcept {
  abort_all(std::vector{release_communicator()});
}

ncclComm_t NcclTransport::release_communicator() noexcept {
  if (is_aborted_.exchange(true)) return nullptr;
  if (registrations_) registrations_->clear(false);  // they go with the communicator
  return comm_;
}

std::unique_ptr<DeviceTransport> NcclTransport::split(std::optional<int> color, int key, DeviceGroupUse use) {
  select();
  ncclConfig_t config = config_for(use);
  // NCCL returns success when the split has only begun, and writes `subgroup` when it has ended. The
  // state of the original communicator tells when.
  auto subgroup = std::make_unique<ncclComm_t>();
  const ncclResult_t begun =
      functions().ncclCommSplit(comm_, color.value_or(NCCL_SPLIT_NOCOLOR), key, subgroup.get(), &config);
  try {
    wait_settled("ncclCommSplit", begun == ncclSuccess ? ncclInProgress : begun);
  } catch (...) {
    static_cast<void>(subgroup.release());  // NCCL may still write to it
    abort();
    throw;
  }
  if (!color) return nullptr;
  return std::unique_ptr<DeviceTransport>(new NcclTransport(*subgroup, device_, timeout_s_));
}

}  // namespace dt::comm::nccl
