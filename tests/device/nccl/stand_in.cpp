#include "device/nccl/stand_in.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/core/reduction.hpp"
#include "comm/nccl/library.hpp"
#include "device/nccl/in_tests.hpp"
#include "device/nccl/steps.hpp"
#include "device/test_device.hpp"

namespace dt::test_device {
namespace {

/// Group calls of this thread.
thread_local int depth = 0;
thread_local std::map<Group*, Step> grouped;

}  // namespace
}  // namespace dt::test_device

using namespace dt;
using namespace dt::test_device;

struct ncclComm {
  explicit ncclComm(SharedGroup its) : group(std::move(its)) { ++num_communicators; }
  ncclComm(const ncclComm&) = delete;
  ~ncclComm() { --num_communicators; }
  SharedGroup group;
};

namespace {

Stream as_stream(cudaStream_t stream) {
  return reinterpret_cast<Stream>(stream);
}

DType dtype_of(ncclDataType_t type) {
  static const std::map<ncclDataType_t, DType> known{
      {ncclFloat64, DType::f64}, {ncclFloat32, DType::f32}, {ncclBfloat16, DType::bf16},
      {ncclFloat16, DType::f16}, {ncclInt64, DType::i64},   {ncclInt32, DType::i32},
      {ncclUint64, DType::u64},  {ncclUint32, DType::u32},  {ncclUint8, DType::u8}};
  return known.at(type);
}

std::size_t bytes_of(std::size_t count, ncclDataType_t type) {
  return count * dtype_bytes(dtype_of(type));
}

Reduction reduction_of(ncclRedOp_t op) {
  static const std::map<ncclRedOp_t, Reduction> known{{ncclSum, Reduction::sum},
                                                      {ncclProd, Reduction::product},
                                                      {ncclMin, Reduction::min},
                                                      {ncclMax, Reduction::max}};
  return known.at(op);
}

/// Enqueues a step of all ranks; body(step) fills it.
template <class Body>
ncclResult_t collective(const char* name, ncclComm_t comm, cudaStream_t stream, const Body& body) {
  comm->group->connect(name);
  Step step{.group = comm->group, .stream = as_stream(stream)};
  body(step);
  enqueue_step(std::move(step));
  return ncclInProgress;
}

template <class Body>
ncclResult_t transfer(ncclComm_t comm, cudaStream_t stream, const Body& body) {
  Step alone{.group = comm->group, .stream = as_stream(stream)};
  if (depth == 0) {
    body(alone);
    enqueue_step(std::move(alone));
    return ncclInProgress;
  }
  body(grouped.try_emplace(comm->group.get(), std::move(alone)).first->second);
  return ncclSuccess;
}

/// Combines all ranks' elements one after the other, not in the order of dt's tree.
void gather_and_combine(Step& step, const void* in, std::size_t in_begin, std::size_t count,
                        ncclDataType_t type, ncclRedOp_t op, void* out) {
  const Group& group = *step.group;
  const DType dtype = dtype_of(type);
  const auto numel = static_cast<std::int64_t>(count);
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < group.size; ++rank) {
    const auto memory = std::make_shared<Buffer>(Device::host(), bytes_of(count, type));
    step.memory.push_back(memory);
    inputs.emplace_back(*memory, dtype, Shape{numel});
    if (rank == group.rank) continue;
    step.receive_on_host(rank, memory->data(), memory->bytes());
  }
  const auto* own = static_cast<const std::byte*>(in) + bytes_of(in_begin, type);
  const Tensor result(out, dtype, Shape{numel}, Device::host());
  step.then = [=, rank = static_cast<std::size_t>(group.rank), reduction = reduction_of(op)] {
    std::memcpy(inputs[rank].raw(), own, inputs[rank].bytes());
    for (std::size_t r = 1; r < inputs.size(); ++r)
      comm::combine(reduction, std::vector{inputs[0], inputs[r]}, inputs[0]);
    std::memcpy(result.raw(), inputs[0].raw(), result.bytes());
  };
}

template <class Body>
void for_peers(const Step& step, const Body& body) {
  for (int peer = 0; peer < step.group->size; ++peer) {
    if (peer != step.group->rank) body(peer);
  }
}

ncclResult_t all_gather(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                        cudaStream_t stream) {
  return collective("all_gather", comm, stream, [&](Step& step) {
    const std::size_t bytes = bytes_of(count, type);
    const auto part = [=](int rank) {
      return static_cast<std::byte*>(out) + static_cast<std::size_t>(rank) * bytes;
    };
    for_peers(step, [&](int peer) {
      step.send(peer, in, bytes);
      step.receive(peer, part(peer), bytes);
    });
    step.then = [=, own = part(step.group->rank)] {
      if (own != in) std::memcpy(own, in, bytes);
    };
  });
}

ncclResult_t all_reduce(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        ncclComm_t comm, cudaStream_t stream) {
  return collective("all_reduce", comm, stream, [&](Step& step) {
    for_peers(step, [&](int peer) { step.send(peer, in, bytes_of(count, type)); });
    gather_and_combine(step, in, 0, count, type, op, out);
  });
}

ncclResult_t reduce(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                    int root, ncclComm_t comm, cudaStream_t stream) {
  return collective("reduce", comm, stream, [&](Step& step) {
    if (step.group->rank != root) return step.send(root, in, bytes_of(count, type));
    gather_and_combine(step, in, 0, count, type, op, out);
  });
}

ncclResult_t reduce_scatter(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t stream) {
  return collective("reduce_scatter", comm, stream, [&](Step& step) {
    const std::size_t bytes = bytes_of(count, type);
    for_peers(step, [&](int peer) {
      step.send(peer, static_cast<const std::byte*>(in) + static_cast<std::size_t>(peer) * bytes, bytes);
    });
    gather_and_combine(step, in, static_cast<std::size_t>(step.group->rank) * count, count, type, op, out);
  });
}

ncclResult_t broadcast(const void* in, void* out, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
  return collective("broadcast", comm, stream, [&](Step& step) {
    const std::size_t bytes = bytes_of(count, type);
    if (step.group->rank != root) return step.receive(root, out, bytes);
    for_peers(step, [&](int peer) { step.send(peer, in, bytes); });
  });
}

ncclResult_t send_one(const void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  comm->group->connect(fmt::format("send to {}", peer));
  return transfer(comm, stream, [&](Step& step) { step.send(peer, memory, bytes_of(count, type)); });
}

ncclResult_t receive_one(void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                         cudaStream_t stream) {
  comm->group->connect(fmt::format("receive from {}", peer));
  return transfer(comm, stream, [&](Step& step) { step.receive(peer, memory, bytes_of(count, type)); });
}

ncclResult_t group_start() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t group_end() {
  if (--depth > 0) return ncclSuccess;
  for (auto& [group, step] : grouped) enqueue_step(std::move(step));
  grouped.clear();
  return ncclInProgress;
}

ncclResult_t register_memory(ncclComm_t comm, void* memory, std::size_t bytes, void** handle) {
  const bool is_new = comm->group->registered.emplace(static_cast<std::byte*>(memory), bytes).second;
  DT_CHECK(is_new, "memory of {} bytes is registered where some is that has gone", bytes);
  *handle = memory;
  ++num_registrations;
  return ncclSuccess;
}

ncclResult_t deregister_memory(ncclComm_t comm, void* handle) {
  num_registrations -= static_cast<long>(comm->group->registered.erase(static_cast<std::byte*>(handle)));
  return ncclSuccess;
}

ncclResult_t abort_comm(ncclComm_t comm) {
  comm->group->is_aborted = true;
  num_registrations -= static_cast<long>(comm->group->registered.size());
  delete comm;
  return ncclSuccess;
}

ncclResult_t destroy_comm(ncclComm_t comm) {
  DT_CHECK(comm->group->registered.empty(), "memory is registered still");
  delete comm;
  return ncclSuccess;
}

ncclResult_t async_error(ncclComm_t comm, ncclResult_t* state) {
  Group& group = *comm->group;
  *state = group.state;
  if (*state != ncclSuccess) return ncclSuccess;
  if (group.boxes && group.boxes->some_process_has_ended())
    *state = ncclRemoteError;
  else if (!group.is_ready())
    *state = ncclInProgress;
  return ncclSuccess;
}

ncclResult_t unique_id(ncclUniqueId* id) {
  static std::atomic<int> number = 0;
  *id = {};
  const std::string name = fmt::format("dt-stand-in-{}-{}", ::getpid(), number++);
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

/// Applies the settings that NCCL would take. A group that is split off without a config has the whole's.
void configure(Group& group, const ncclConfig_t& config) {
  DT_CHECK(config.blocking == 0, "the stand-in of NCCL never blocks");
  group.ctas = config.maxCTAs == NCCL_CONFIG_UNDEF_INT ? unlimited_ctas : config.maxCTAs;
}

ncclResult_t init_comm(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  *comm = new ncclComm(std::make_shared<Group>());
  Group& group = *(*comm)->group;
  configure(group, *config);
  group.rank = rank;
  group.size = size;
  group.name = id.internal;
  group.join();
  return ncclInProgress;
}

/// Divides the group once all ranks have stated their wishes; returns false until then.
bool divide(Group& whole, int split, int color, Group& part) {
  std::vector<std::pair<int, int>> ranks;  // key, rank
  for (int rank = 0; rank < whole.size; ++rank) {
    const SharedBoxes::Wish& wish = whole.boxes->wish(split, rank);
    if (!wish.is_known) return false;
    if (wish.color == color) ranks.emplace_back(wish.key, rank);
  }
  std::ranges::sort(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].second == whole.rank) part.rank = static_cast<int>(i);
  }
  if (color == NCCL_SPLIT_NOCOLOR) return true;
  part.size = static_cast<int>(ranks.size());
  part.name = fmt::format("{}.{}.{}", whole.name, split, color);
  part.join();
  return true;
}

ncclResult_t split_comm(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config) {
  const SharedGroup whole = comm->group;
  const int number = whole->num_splits++;
  DT_CHECK(number < SharedBoxes::most_splits, "the stand-in of NCCL divides a group {} times", number);
  SharedBoxes::Wish& wish = whole->boxes->wish(number, whole->rank);
  wish.color = color;
  wish.key = key;
  wish.is_known = true;
  // Follows NCCL: success, though the whole is in progress; the part is set when the split has ended.
  *part = nullptr;
  const auto made = std::make_shared<Group>();
  made->ctas = whole->ctas;
  if (config != nullptr) configure(*made, *config);
  made->held = whole->held;
  whole->splits = [whole = whole.get(), made, number, color, part] {
    if (!divide(*whole, number, color, *made)) return false;
    if (color != NCCL_SPLIT_NOCOLOR) *part = new ncclComm(made);
    return true;
  };
  return ncclSuccess;
}

ncclResult_t tell_version(int* number) {
  *number = NCCL_VERSION_CODE;
  return ncclSuccess;
}

}  // namespace

namespace dt::test_device {

void break_nccl_at(long operation, NcclFault fault) {
  fault_to_come = fault;
  operations_to_fault = operation;
}

int take_most_nccl_ctas() {
  return most_ctas.exchange(0);
}

long num_nccl_connections() {
  return num_connections;
}

long num_nccl_communicators() {
  return num_communicators;
}

long num_nccl_registrations() {
  return num_registrations;
}

void use_nccl() {
  comm::nccl::set_functions(&nccl_stand_in());
  comm::nccl::register_nccl();
}

std::vector<int> nccl_group_sizes() {
  return {1, 2, 3, 4, 5, 7, 8};
}

/// Gives each rank a device of its own. Work on another rank's device may wait for what this rank does
/// later.
Device nccl_device_of(int rank) {
  return Device::gpu(rank);
}

const comm::nccl::NcclFunctions& nccl_stand_in() {
  static const comm::nccl::NcclFunctions functions{
      .ncclAllGather = all_gather,
      .ncclAllReduce = all_reduce,
      .ncclBroadcast = broadcast,
      .ncclCommAbort = abort_comm,
      .ncclCommCount = [](const ncclComm_t comm,
                          int* count) { return *count = comm->group->size, ncclSuccess; },
      .ncclCommDeregister = deregister_memory,
      .ncclCommDestroy = destroy_comm,
      .ncclCommFinalize = [](ncclComm_t) { return ncclSuccess; },
      .ncclCommGetAsyncError = async_error,
      .ncclCommInitRankConfig = init_comm,
      .ncclCommRegister = register_memory,
      .ncclCommSplit = split_comm,
      .ncclCommUserRank = [](const ncclComm_t comm,
                             int* rank) { return *rank = comm->group->rank, ncclSuccess; },
      .ncclGetErrorString =
          [](ncclResult_t result) {
            return result == ncclRemoteError ? "remote process exited" : "unhandled system error";
          },
      .ncclGetLastError = [](ncclComm_t) { return ""; },
      .ncclGetUniqueId = unique_id,
      .ncclGetVersion = tell_version,
      .ncclGroupEnd = group_end,
      .ncclGroupStart = group_start,
      .ncclRecv = receive_one,
      .ncclReduce = reduce,
      .ncclReduceScatter = reduce_scatter,
      .ncclSend = send_one};
  return functions;
}

}  // namespace dt::test_device
