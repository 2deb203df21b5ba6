#include "comm/communicator.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "comm/algorithms.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::comm {

namespace {

// Tags: one bit for sends and receives, which are matched by their order alone; else the lowest bits of the
// sequence number, above those of the chain's.
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
  DT_CHECK(dtype != DType::u8 && dtype != DType::u16, "{} elements cannot be reduced", dtype_name(dtype));
}

}  // namespace

struct Work::Handle {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<Operation> operation;

  Handle(std::shared_ptr<Engine> e, std::shared_ptr<Operation> o)
      : engine(std::move(e)), operation(std::move(o)) {}
  Handle(const Handle&) = delete;
  ~Handle() {
    if (!operation->is_done()) engine->abandon(*operation);
  }
};

Work::Work(std::shared_ptr<Engine> engine, std::shared_ptr<Operation> operation)
    : handle_(std::make_shared<const Handle>(std::move(engine), std::move(operation))) {}

bool Work::done() const {
  if (handle_ == nullptr) return true;
  const Operation& operation = *handle_->operation;
  return operation.is_done() && (!operation.device || operation.device->is_over());
}

void Work::wait(const Context& context) const {
  if (handle_ == nullptr) return;
  Operation& operation = *handle_->operation;
  if (!operation.is_done()) handle_->engine->wait(operation);
  if (operation.device) operation.device->order(context);
}

void Work::wait_host() const {
  if (handle_ == nullptr) return;
  Operation& operation = *handle_->operation;
  if (!operation.is_done()) handle_->engine->wait(operation);
  if (operation.device) handle_->engine->wait_for_device(operation);
}

struct Communicator::Call {
  OperationKind kind;
  std::size_t bytes = 0;
  int peer = -1;
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
      locality_(std::make_shared<Locality>(rank_, size_, host_)),
      group_(engine_->recorder().add_group(name_, members_)) {
  set_bucket_bytes(default_bucket_bytes);
}

Communicator::~Communicator() {
  engine_->forget(*transport_);
}

void Communicator::set_bucket_bytes(std::size_t bytes) {
  bucket_bytes_ = bytes > 0 ? std::max(bytes, least_bucket_bytes(size_)) : 0;
}

Caller Communicator::caller() const {
  return {rank_, size_, staging_, locality_, bucket_bytes_};
}

/// Where an operation's algorithm finds its tensors: on the host.
struct Communicator::Sides {
  Tensor in, out;
  std::shared_ptr<DeviceSide> device;
};

Communicator::Sides Communicator::sides(std::int64_t numel, const DeviceSide::Access& in,
                                        const DeviceSide::Access& out) const {
  const Device device = (in.tensor.numel() > 0 ? in : out).tensor.device();
  DT_CHECK(out.tensor.numel() == 0 || out.tensor.device() == device, "group {} is given memory of {} and {}",
           name_, device.to_string(), out.tensor.device().to_string());
  if (device == Device::host() || numel == 0) return {in.tensor, out.tensor, {}};
  const std::shared_ptr<DeviceLink> link = engine_->device_link();
  DT_CHECK(link && link->device() == device,
           "group {} is given memory of {}, where this rank does not compute", name_, device.to_string());
  auto side = std::make_shared<DeviceSide>(link, numel, in, out);
  return {side->in(), side->out(), side};
}

Work Communicator::start(const Call& call, Algorithm algorithm, std::shared_ptr<DeviceSide> device) {
  const bool is_transfer = call.peer >= 0;
  auto operation = std::make_shared<Operation>();
  operation->transport = transport_.get();
  operation->make_chain = std::move(algorithm.make_chain);
  operation->num_chains = algorithm.num_chains;
  operation->window = algorithm.window;
  operation->chain_bytes = algorithm.chain_bytes;
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
  return operation->is_done() && !operation->device ? Work() : Work(engine_, std::move(operation));
}

Work Communicator::start_transfer(OperationKind kind, int peer, const Tensor& data) {
  DT_CHECK(peer >= 0 && peer < size_ && peer != rank_, "rank {} of {} exchanges with rank {}", rank_, size_,
           peer);
  const bool is_send = kind == OperationKind::send;
  const Sides at = sides(data.numel(), {data, 0, is_send}, {data, 0, !is_send});
  return start({kind, data.bytes(), peer}, transfer_algorithm(peer, at.in, is_send), at.device);
}

Work Communicator::send(int peer, const Tensor& data) {
  return start_transfer(OperationKind::send, peer, data);
}

Work Communicator::receive(int peer, const Tensor& data) {
  return start_transfer(OperationKind::receive, peer, data);
}

Work Communicator::all_reduce(const Tensor& in, const Tensor& out, Reduction reduction) {
  check_same(in, out.numel(), out, "all_reduce");
  check_reducible(in.dtype());
  const Sides at = sides(in.numel(), {in}, {out});
  return start({OperationKind::all_reduce, in.bytes()},
               all_reduce_algorithm(caller(), at.in, at.out, reduction), at.device);
}

Work Communicator::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                  std::int64_t granule) {
  const Part own = part_of(rank_, size_, in.numel(), granule);
  check_same(out, own.count, in, "reduce_scatter");
  check_reducible(in.dtype());
  const Sides at = sides(in.numel(), {in}, {out, own.begin});
  return start({OperationKind::reduce_scatter, in.bytes()},
               reduce_scatter_algorithm(caller(), at.in, at.out, reduction, granule), at.device);
}

Work Communicator::all_gather(const Tensor& in, const Tensor& out, std::int64_t granule) {
  const Part own = part_of(rank_, size_, out.numel(), granule);
  check_same(in, own.count, out, "all_gather");
  const Sides at = sides(out.numel(), {in, own.begin}, {out});
  return start({OperationKind::all_gather, out.bytes()},
               all_gather_algorithm(caller(), at.in, at.out, granule), at.device);
}

Work Communicator::broadcast(const Tensor& data, int root) {
  DT_CHECK(root >= 0 && root < size_, "broadcast from rank {} of {}", root, size_);
  const bool is_root = rank_ == root;
  const Sides at = sides(data.numel(), {data, 0, is_root}, {data, 0, !is_root});
  return start({OperationKind::broadcast, data.bytes()}, broadcast_algorithm(caller(), at.in, root),
               at.device);
}

Work Communicator::barrier() {
  return start({OperationKind::barrier}, barrier_algorithm(caller()));
}

std::unique_ptr<Communicator> Communicator::split(std::optional<int> color, int key, std::string name) {
  const auto n = static_cast<std::size_t>(size_);
  const std::int64_t none = std::numeric_limits<std::int64_t>::max(), wished = color ? *color : none;
  std::vector<std::int64_t> wishes(2 * n);
  const Tensor all = host_tensor(wishes);
  const Tensor mine = all.flat(2 * rank_, 2);
  mine.data<std::int64_t>()[0] = wished;
  mine.data<std::int64_t>()[1] = key;
  all_gather(mine, all).wait_host();

  std::set<std::int64_t> colors;
  std::vector<std::tuple<std::int64_t, int>> order;  // key, rank
  for (int rank = 0; rank < size_; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    colors.insert(wishes[2 * r]);
    if (wishes[2 * r] == wished) order.emplace_back(wishes[2 * r + 1], rank);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> ranks;    // of this group
  std::vector<int> members;  // of the group of everyone
  for (const auto& [_, rank] : order) {
    ranks.push_back(rank);
    members.push_back(members_[static_cast<std::size_t>(rank)]);
  }
  std::optional<int> color_number;
  if (color) color_number = static_cast<int>(std::distance(colors.begin(), colors.find(wished)));
  std::unique_ptr<Transport> transport = transport_->split(color_number, key, ranks);
  if (!transport) return {};
  auto part = std::unique_ptr<Communicator>(
      new Communicator(std::move(transport), engine_, std::move(name), std::move(members), staging_, host_));
  part->set_bucket_bytes(bucket_bytes_);
  return part;
}

}  // namespace dt::comm
