#include "comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "comm/algorithms/algorithms.hpp"
#include "comm/core/collective.hpp"

namespace dt::comm {

namespace {

// Tags: one bit marks sends and receives, which are matched by their order alone. The tags of other
// operations have the lowest bits of the sequence number above the bits of the sequence's number.
constexpr int transfer_tag = 1 << (tag_bits - 1);
constexpr std::int64_t num_sequence_tags = 1024;
constexpr int sequence_shift = 10;

std::vector<int> everyone(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void check_same(const Tensor& in, std::int64_t numel, const Tensor& out, const char* what) {
  DT_CHECK(in.dtype() == out.dtype(), "{} from {} to {}", what, dtype_name(in.dtype()),
           dtype_name(out.dtype()));
  DT_CHECK(in.numel() == numel, "{}: {} elements where {} are due", what, in.numel(), numel);
}

void check_reducible(DType dtype) {
  DT_CHECK(has_dtype(ReducibleTypes(), dtype), "{} elements cannot be reduced", dtype_name(dtype));
}

RangeOf parts_of(const TransferChunk& chunk) {
  return [parts = chunk.parts](int rank) { return parts[static_cast<std::size_t>(rank)]; };
}

}  // namespace

struct Work::Handle {
  std::shared_ptr<Engine> engine;
  std::vector<std::shared_ptr<Operation>> operations{};
  std::shared_ptr<StreamOperation> on_stream{};

  explicit Handle(std::shared_ptr<Engine> e) : engine(std::move(e)) {}
  Handle(const Handle&) = delete;
  ~Handle() {
    for (const std::shared_ptr<Operation>& operation : operations) {
      if (!operation->is_done()) engine->cancel_unwaited(*operation);
    }
    if (on_stream) engine->cancel_unwaited(*on_stream);
  }

  void wait() const {
    try {
      for (const std::shared_ptr<Operation>& operation : operations) {
        if (!operation->is_done()) engine->wait(*operation);
      }
    } catch (...) {  // if one fails, the others are useless
      for (const std::shared_ptr<Operation>& operation : operations) engine->cancel(*operation);
      throw;
    }
  }
};

Work::Work(std::shared_ptr<Engine> engine) : handle_(std::make_shared<Handle>(std::move(engine))) {}

void Work::add(std::shared_ptr<Operation> operation) const {
  handle_->operations.push_back(std::move(operation));
}

void Work::add(std::shared_ptr<StreamOperation> operation) const {
  handle_->on_stream = std::move(operation);
}

void Work::detach_handle(Work other) const {
  for (auto& operation : other.handle_->operations) handle_->operations.push_back(std::move(operation));
  other.handle_->operations.clear();
}

bool Work::done() const {
  if (handle_ && handle_->on_stream) {
    handle_->engine->progress();
    return handle_->on_stream->is_done;
  }
  return !handle_ || std::ranges::all_of(handle_->operations, [](const auto& operation) {
    return operation->is_done() && (!operation->device || operation->device->is_finished());
  });
}

void Work::wait(const Context& context) const {
  if (handle_ == nullptr) return;
  if (handle_->on_stream) {
    handle_->engine->check_alive();
    handle_->on_stream->end->make_stream_wait(context.stream());
    handle_->on_stream->is_followed = true;
    return;
  }
  context.flush();
  handle_->wait();
  for (const std::shared_ptr<Operation>& operation : handle_->operations) {
    // All copies to the device are in one stream, so work that waits for one copy waits for all.
    if (operation->device && operation->device->writes()) return operation->device->order(context);
  }
}

void Work::wait_host() const {
  if (handle_ == nullptr) return;
  if (handle_->on_stream) return handle_->engine->wait(*handle_->on_stream);
  handle_->wait();
  for (const std::shared_ptr<Operation>& operation : handle_->operations) {
    if (operation->device) handle_->engine->wait_for_device(*operation);
  }
}

struct Communicator::Call {
  OperationKind kind;
  std::size_t bytes = 0;
  int peer = -1;
  DType dtype = DType::u8;
};

Communicator::Communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Engine> engine,
                           std::string name, std::string host)
    : Communicator(std::move(transport), std::move(engine), std::move(name), {},
                   std::make_shared<StagingPool>(), std::move(host)) {}

Communicator::Communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Engine> engine,
                           std::string name, std::vector<int> members, std::shared_ptr<StagingPool> staging,
                           std::string host)
    : transport_(std::move(transport)),
      engine_(std::move(engine)),
      staging_(std::move(staging)),
      host_(std::move(host)),
      name_(std::move(name)),
      members_(members.empty() ? everyone(transport_->size()) : std::move(members)),
      rank_(transport_->rank()),
      size_(transport_->size()),
      locality_(std::make_shared<Locality>(
          rank_, size_, host_,
          [notifying = transport_.get()](int first, int count) { notifying->notify(first, count); })),
      group_(engine_->recorder().add_group(name_, members_)) {
  set_bucket_bytes(default_bucket_bytes);
}

Communicator::~Communicator() {
  if (device_group_) engine_->detach(device_group_->transport());
  engine_->detach(*transport_);
}

void Communicator::set_bucket_bytes(std::size_t bytes) {
  bucket_bytes_ = bytes > 0 ? std::max(bytes, least_bucket_bytes(size_)) : 0;
}

/// Returns the hosts of all ranks, by rank.
/// Collective: all ranks call it; blocks.
std::vector<HostName> Communicator::gather_hosts() {
  constexpr auto bytes = static_cast<std::int64_t>(std::tuple_size_v<HostName>);
  std::vector<HostName> hosts(static_cast<std::size_t>(size_));
  hosts[static_cast<std::size_t>(rank_)] = host_name_of(host_);
  const Tensor all(hosts.data(), DType::u8, {size_ * bytes}, Device::host());
  all_gather(all.flat(rank_ * bytes, bytes), all, bytes).wait_host();
  return hosts;
}

void Communicator::set_device_transport(std::unique_ptr<DeviceTransport> transport, ReduceOrder order) {
  DT_CHECK(transport->rank() == rank_ && transport->size() == size_, "group {}: rank {} of {} is another's",
           name_, transport->rank(), transport->size());
  device_group_ = std::make_unique<DeviceGroup>(std::move(transport), order, placement_of(gather_hosts()),
                                                stream_staging_bytes(bucket_bytes_), name_,
                                                [engine = engine_.get()] { engine->progress(); });
  engine_->stream_watch().join(device_group_->transport());
}

Caller Communicator::caller() const {
  return {rank_, size_, staging_, locality_, bucket_bytes_};
}

/// Returns the link for operations on these tensors; null if they lie on the host, or if there are
/// none.
std::shared_ptr<DeviceLink> Communicator::link_for(const Sides& sides) const {
  const bool has_in = sides.in && sides.in.numel() > 0, has_out = sides.out && sides.out.numel() > 0;
  if (!has_in && !has_out) return nullptr;
  const Device device = (has_in ? sides.in : sides.out).device();
  DT_CHECK(!has_out || sides.out.device() == device, "group {} is given memory of {} and {}", name_,
           device.to_string(), sides.out.device().to_string());
  if (device == Device::host()) return nullptr;
  std::shared_ptr<DeviceLink> link = engine_->device_link();
  DT_CHECK(link && link->device() == device,
           "group {} is given memory of {}, where this rank does not compute", name_, device.to_string());
  return link;
}

std::shared_ptr<Operation> Communicator::start(const Call& call, Algorithm algorithm,
                                               std::shared_ptr<DeviceSide> device) {
  const bool is_transfer = call.peer >= 0;
  auto operation = std::make_shared<Operation>();
  operation->transport = transport_.get();
  operation->make_sequence = std::move(algorithm.make_sequence);
  operation->num_sequences = algorithm.num_sequences;
  operation->window = algorithm.window;
  operation->sequence_bytes = algorithm.sequence_bytes;
  operation->bucket_bytes = bucket_bytes_;
  operation->device = std::move(device);
  operation->kind = call.kind;
  operation->group = name_;
  operation->bytes = static_cast<std::int64_t>(call.bytes);
  operation->peer = call.peer;
  operation->sequence = is_transfer ? 0 : ++sequence_;
  operation->tag = is_transfer ? transfer_tag
                               : static_cast<int>(operation->sequence % num_sequence_tags) << sequence_shift;
  operation->ticket = engine_->recorder().start(group_, call.kind, operation->bytes, call.peer);
  engine_->start(operation);
  return operation;
}

Work Communicator::start_on_host(const Call& call, Algorithm algorithm) {
  std::shared_ptr<Operation> operation = start(call, std::move(algorithm));
  if (operation->is_done()) return {};
  const Work work(engine_);
  work.add(std::move(operation));
  return work;
}

Work Communicator::start_chunks(const Call& call, const std::shared_ptr<DeviceLink>& link,
                                const std::vector<TransferChunk>& chunks, const MakeAlgorithm& make) {
  const Lane lane{group_, call.peer, call.kind == OperationKind::send};
  const std::shared_ptr<Event> computed = link->mark_computed();
  const Work work(engine_);
  for (const TransferChunk& chunk : chunks) {
    const auto side = std::make_shared<DeviceSide>(link, lane, call.dtype, chunk.numel, chunk.reads,
                                                   chunk.writes, computed);
    work.add(start({call.kind, side->staged().bytes(), call.peer}, make(chunk, side->staged()), side));
  }
  return work;
}

template <class Enqueue>
Work Communicator::start_on_device(std::span<const Call> calls, const DeviceLink& link,
                                   const Enqueue& enqueue) {
  auto operation = std::make_shared<StreamOperation>();
  for (const Call& call : calls) {
    const auto bytes = static_cast<std::int64_t>(call.bytes);
    const OperationName name{call.kind, name_, call.peer < 0 ? ++sequence_ : 0, bytes, call.peer};
    operation->text += (operation->text.empty() ? "" : " and ") + to_string(name);
    operation->tickets.push_back(engine_->recorder().start(group_, call.kind, bytes, call.peer));
  }
  operation->control = transport_.get();
  engine_->start(device_group_->transport(), device_group_->stream(), operation, [&] {
    accelerator().wait_stream(device_group_->stream(), link.computing());
    const auto clock = engine_->recorder().device_clock();
    if (clock) operation->span = std::make_unique<StreamTimer>(clock, device_group_->stream());
    enqueue(*device_group_);
    if (clock) operation->span->end();
  });
  const Work work(engine_);
  work.add(std::move(operation));
  return work;
}

void Communicator::check_peer(int peer) const {
  DT_CHECK(peer >= 0 && peer < size_ && peer != rank_, "rank {} of {} exchanges with rank {}", rank_, size_,
           peer);
}

Work Communicator::start_transfer(OperationKind kind, int peer, const Tensor& data) {
  check_peer(peer);
  const bool is_send = kind == OperationKind::send;
  const Sides sides{is_send ? data : Tensor(), is_send ? Tensor() : data};
  const Call call{kind, data.bytes(), peer, data.dtype()};
  const std::shared_ptr<DeviceLink> link = link_for(sides);
  if (!link) return start_on_host(call, transfer_algorithm(peer, data, is_send));
  if (device_group_)
    return start_on_device({&call, 1}, *link, [&](DeviceGroup& group) {
      group.exchange({{peer, data, is_send}});
    });
  return start_chunks(
      call, link, chunk_alike(sides, link->chunk_bytes()),
      [=](const TransferChunk&, const Tensor& staged) { return transfer_algorithm(peer, staged, is_send); });
}

Work Communicator::send(int peer, const Tensor& data) {
  return start_transfer(OperationKind::send, peer, data);
}

Work Communicator::receive(int peer, const Tensor& data) {
  return start_transfer(OperationKind::receive, peer, data);
}

Work Communicator::send_receive(int to, const Tensor& own, int from, const Tensor& arriving) {
  const std::shared_ptr<DeviceLink> link = link_for({own, arriving});
  if (!link || !device_group_) {
    Work both = receive(from, arriving), sent = send(to, own);
    if (sent.is_empty()) return both;
    if (both.is_empty()) return sent;
    both.detach_handle(std::move(sent));
    return both;
  }
  check_peer(to);
  check_peer(from);
  const std::array calls{Call{OperationKind::receive, arriving.bytes(), from},
                         Call{OperationKind::send, own.bytes(), to}};
  return start_on_device(calls, *link, [&](DeviceGroup& group) {
    group.exchange({{to, own, true}, {from, arriving, false}});
  });
}

Work Communicator::all_reduce(const Tensor& in, const Tensor& out, Reduction reduction) {
  check_same(in, out.numel(), out, "all_reduce");
  check_reducible(in.dtype());
  const Call call{OperationKind::all_reduce, in.bytes(), -1, in.dtype()};
  const std::shared_ptr<DeviceLink> link = link_for({in, out});
  if (!link) return start_on_host(call, all_reduce_algorithm(caller(), in, out, reduction));
  if (device_group_)
    return start_on_device({&call, 1}, *link,
                           [&](DeviceGroup& group) { group.all_reduce(in, out, reduction); });
  return start_chunks(call, link, chunk_alike({in, out}, link->chunk_bytes()),
                      [&](const TransferChunk&, const Tensor& staged) {
                        return all_reduce_algorithm(caller(), staged, staged, reduction);
                      });
}

Work Communicator::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                  std::int64_t granule) {
  const EvenSplit division{rank_, size_, in.numel(), granule};
  check_same(out, division.of(rank_).count, in, "reduce_scatter");
  check_reducible(in.dtype());
  const Call call{OperationKind::reduce_scatter, in.bytes(), -1, in.dtype()};
  const std::shared_ptr<DeviceLink> link = link_for({in, out});
  if (!link)
    return start_on_host(call, reduce_scatter_algorithm(caller(), in, out, reduction, division.parts()));
  if (device_group_)
    return start_on_device({&call, 1}, *link, [&](DeviceGroup& group) {
      group.reduce_scatter(in, out, reduction, division.parts());
    });
  return start_chunks(call, link, chunk_split({in, out}, division, link->chunk_bytes()),
                      [&](const TransferChunk& chunk, const Tensor& staged) {
                        const Tensor own = flat_view(staged, chunk.parts[static_cast<std::size_t>(rank_)]);
                        return reduce_scatter_algorithm(caller(), staged, own, reduction, parts_of(chunk));
                      });
}

Work Communicator::all_gather(const Tensor& in, const Tensor& out, std::int64_t granule) {
  const EvenSplit division{rank_, size_, out.numel(), granule};
  check_same(in, division.of(rank_).count, out, "all_gather");
  const Call call{OperationKind::all_gather, out.bytes(), -1, out.dtype()};
  const std::shared_ptr<DeviceLink> link = link_for({in, out});
  if (!link) return start_on_host(call, all_gather_algorithm(caller(), in, out, division.parts()));
  if (device_group_)
    return start_on_device({&call, 1}, *link,
                           [&](DeviceGroup& group) { group.all_gather(in, out, division.parts()); });
  return start_chunks(call, link, chunk_split({in, out}, division, link->chunk_bytes()),
                      [&](const TransferChunk& chunk, const Tensor& staged) {
                        const Tensor own = flat_view(staged, chunk.parts[static_cast<std::size_t>(rank_)]);
                        return all_gather_algorithm(caller(), own, staged, parts_of(chunk));
                      });
}

Work Communicator::broadcast(const Tensor& data, int root) {
  DT_CHECK(root >= 0 && root < size_, "broadcast from rank {} of {}", root, size_);
  const bool is_root = rank_ == root;
  const Sides sides{is_root ? data : Tensor(), is_root ? Tensor() : data};
  const Call call{OperationKind::broadcast, data.bytes(), -1, data.dtype()};
  const std::shared_ptr<DeviceLink> link = link_for(sides);
  if (!link) return start_on_host(call, broadcast_algorithm(caller(), data, root));
  if (device_group_)
    return start_on_device({&call, 1}, *link, [&](DeviceGroup& group) { group.broadcast(data, root); });
  return start_chunks(call, link, chunk_alike(sides, link->chunk_bytes()),
                      [&](const TransferChunk&, const Tensor& staged) {
                        return broadcast_algorithm(caller(), staged, root);
                      });
}

Work Communicator::barrier() {
  return start_on_host({OperationKind::barrier}, barrier_algorithm(caller()));
}

}  // namespace dt::comm
