#include "comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "comm/algorithms/algorithms.hpp"
#include "comm/collective_operations.hpp"

namespace dt::comm {

namespace {

// Tags: one bit marks sends and receives, which are matched by their order alone. The tags of other
// operations have the lowest bits of the sequence number above the bits of the sequence's number.
constexpr int transfer_tag = 1 << (tag_bits - 1);
constexpr std::int64_t num_sequence_tags = 1024;
constexpr int sequence_shift = 8;

std::vector<int> everyone(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
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
  // Chunks that share the first one's sequence and ticket:
  std::shared_ptr<int> num_unfinished{};
  const Operation* first = nullptr;
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
/// none. Where parts differ, a rank that has no elements must go the way of the others, so tensors without
/// elements count, too.
std::shared_ptr<DeviceLink> Communicator::link_for(OperationKind kind, const Tensor& in,
                                                   const Tensor& out) const {
  const bool may_be_empty = traits(kind).in == Extent::parts;
  const bool has_in = may_be_empty || (in && in.numel() > 0),
             has_out = may_be_empty || (out && out.numel() > 0);
  if (!has_in && !has_out) return nullptr;
  const Device device = (has_in ? in : out).device();
  DT_CHECK(!has_out || out.device() == device, "group {} is given memory of {} and {}", name_,
           device.to_string(), out.device().to_string());
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
  operation->num_unfinished = call.num_unfinished;
  if (call.first) {
    operation->sequence = call.first->sequence;
    operation->ticket = call.first->ticket;
  } else {
    operation->sequence = is_transfer ? 0 : ++sequence_;
    operation->ticket = engine_->recorder().start(group_, call.kind, operation->bytes, call.peer);
  }
  operation->tag = is_transfer ? transfer_tag
                               : static_cast<int>(operation->sequence % num_sequence_tags) << sequence_shift;
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

template <class MakeAlgorithm>
Work Communicator::start_chunks(const Call& call, const std::shared_ptr<DeviceLink>& link,
                                const std::vector<TransferChunk>& chunks, const MakeAlgorithm& make) {
  const Lane lane{group_, call.peer, call.kind == OperationKind::send};
  const std::shared_ptr<Event> computed = link->mark_computed();
  const Work work(engine_);
  // Ranks have different numbers of chunks of an operation whose parts differ, which is recorded whole.
  const bool is_one = traits(call.kind).in == Extent::parts;
  Call one{call.kind, call.bytes, call.peer};
  if (is_one) one.num_unfinished = std::make_shared<int>(static_cast<int>(chunks.size()));
  std::shared_ptr<Operation> first;
  for (const TransferChunk& chunk : chunks) {
    const auto side = std::make_shared<DeviceSide>(link, lane, call.dtype, chunk.numel, chunk.reads,
                                                   chunk.writes, computed);
    if (!is_one) one.bytes = side->staged().bytes();
    std::shared_ptr<Operation> operation = start(one, make(chunk, side->staged()), side);
    if (is_one && !first) one.first = (first = operation).get();
    work.add(std::move(operation));
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
  const Collective whole{.kind = kind,
                         .in = is_send ? data : Tensor(),
                         .out = is_send ? Tensor() : data,
                         .dtype = data.dtype(),
                         .numel = data.numel()};
  const Call call{kind, data.bytes(), peer, data.dtype()};
  const std::shared_ptr<DeviceLink> link = link_for(whole.kind, whole.in, whole.out);
  if (!link) return start_on_host(call, transfer_algorithm(peer, data, is_send));
  if (device_group_)
    return start_on_device({&call, 1}, *link, [&](DeviceGroup& group) {
      group.exchange({{peer, data, is_send}});
    });
  return start_chunks(
      call, link, chunk_alike(whole, rank_, size_, link->chunk_bytes()),
      [=](const TransferChunk&, const Tensor& staged) { return transfer_algorithm(peer, staged, is_send); });
}

Work Communicator::send(int peer, const Tensor& data) {
  return start_transfer(OperationKind::send, peer, data);
}

Work Communicator::receive(int peer, const Tensor& data) {
  return start_transfer(OperationKind::receive, peer, data);
}

Work Communicator::send_receive(int to, const Tensor& own, int from, const Tensor& arriving) {
  return exchange(
      std::array{DeviceTransport::Transfer{from, arriving, false}, DeviceTransport::Transfer{to, own, true}});
}

Work Communicator::exchange(std::span<const DeviceTransport::Transfer> transfers) {
  std::shared_ptr<DeviceLink> link;
  std::vector<Call> calls;
  for (const auto& [peer, data, is_send] : transfers) {
    check_peer(peer);
    DT_CHECK(data.device() == transfers.front().data.device(), "group {} is given memory of {} and {}", name_,
             transfers.front().data.device().to_string(), data.device().to_string());
    if (!link) link = link_for(OperationKind::send_receive, data, Tensor());
    calls.push_back({is_send ? OperationKind::send : OperationKind::receive, data.bytes(), peer});
  }
  if (link && device_group_) {
    return start_on_device(calls, *link, [&](DeviceGroup& group) {
      group.exchange({transfers.begin(), transfers.end()});
    });
  }
  Work all;
  for (const auto& [peer, data, is_send] : transfers) {
    Work one = is_send ? send(peer, data) : receive(peer, data);
    if (one.is_empty()) continue;
    if (all.is_empty())
      all = std::move(one);
    else
      all.detach_handle(std::move(one));
  }
  return all;
}

Work Communicator::start(Collective collective) {
  const CollectiveOperation& operation = collective_operation(collective.kind);
  const Collective whole = complete(std::move(collective), rank_, size_);
  const Call call{whole.kind, whole.bytes(), -1, whole.dtype};
  const std::shared_ptr<DeviceLink> link = link_for(whole.kind, whole.in, whole.out);
  if (!link) return start_on_host(call, operation.on_hosts(caller(), whole));
  if (device_group_)
    return start_on_device({&call, 1}, *link, [&](DeviceGroup& group) { operation.on_stream(group, whole); });
  return start_chunks(call, link, operation.chunks(whole, rank_, size_, link->chunk_bytes()),
                      [&](const TransferChunk& chunk, const Tensor& staged) {
                        return operation.on_hosts(caller(), call_of_chunk(whole, chunk, staged, rank_));
                      });
}

}  // namespace dt::comm
