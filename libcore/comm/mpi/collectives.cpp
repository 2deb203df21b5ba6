#include "comm/mpi/collectives.hpp"

#include <algorithm>
#include <array>
#include <mpi.h>
#include <vector>

#include "base/error.hpp"
#include "comm/mpi/transport.hpp"

namespace dt::comm::mpi {

struct Collectives::State {
  MPI_Comm communicator = duplicate_of_world();
  int rank = 0;
  int size = 1;
};

namespace {

/// The arguments that the calls of all kinds use. A side that the rank lacks is null.
struct Prepared {
  const void* in = nullptr;
  void* out = nullptr;
  int count = 0;  // elements of one of equal parts, if the N elements are divided, else N
  bool is_in_place = false;
  Collective call;
  MPI_Comm communicator;
};

constexpr int message_tag = 0;

MPI_Datatype reducible_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f32:
      return MPI_FLOAT;
    case DType::i64:
      return MPI_INT64_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::u64:
      return MPI_UINT64_T;
    case DType::u32:
      return MPI_UINT32_T;
    default:
      throw Error(ErrorKind::internal, fmt::format("MPI does not reduce {}", dtype_name(dtype)));
  }
}

/// Returns an MPI type of the same width, for data that are only moved.
MPI_Datatype movable_type(DType dtype) {
  switch (dtype_bytes(dtype)) {
    case 8:
      return MPI_UINT64_T;
    case 4:
      return MPI_UINT32_T;
    case 2:
      return MPI_UINT16_T;
    default:
      return MPI_UINT8_T;
  }
}

MPI_Op operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::product:
      return MPI_PROD;
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

int to_count(std::int64_t numel) {
  constexpr std::int64_t most = Collectives::max_count;
  DT_CHECK(numel <= most, "MPI counts at most {} elements, not {}", most, numel);
  return static_cast<int>(numel);
}
int count_of(const Tensor& tensor) {
  return to_count(tensor.numel());
}

std::function<void()> all_reduce(const Prepared& p) {
  return [p, type = reducible_type(p.call.dtype), op = operation_of(p.call.reduction)] {
    check(MPI_Allreduce(p.is_in_place ? MPI_IN_PLACE : p.in, p.out, p.count, type, op, p.communicator),
          "all-reduce");
  };
}

std::function<void()> reduce_scatter(const Prepared& p) {
  return [p, type = reducible_type(p.call.dtype), op = operation_of(p.call.reduction)] {
    check(MPI_Reduce_scatter_block(p.is_in_place ? MPI_IN_PLACE : p.in, p.out, p.count, type, op,
                                   p.communicator),
          "reduce-scatter");
  };
}

std::function<void()> all_gather(const Prepared& p) {
  return [p, type = movable_type(p.call.dtype)] {
    check(MPI_Allgather(p.is_in_place ? MPI_IN_PLACE : p.in, p.count, type, p.out, p.count, type,
                        p.communicator),
          "all-gather");
  };
}

std::function<void()> broadcast(const Prepared& p) {
  std::byte* const data = (p.call.in ? p.call.in : p.call.out).raw();
  return [p, data, type = movable_type(p.call.dtype)] {
    check(MPI_Bcast(data, p.count, type, p.call.root, p.communicator), "broadcast");
  };
}

std::function<void()> reduce(const Prepared& p) {
  return [p, type = reducible_type(p.call.dtype), op = operation_of(p.call.reduction)] {
    check(MPI_Reduce(p.is_in_place ? MPI_IN_PLACE : p.in, p.out, p.count, type, op, p.call.root,
                     p.communicator),
          "reduce");
  };
}

std::function<void()> gather(const Prepared& p) {
  return [p, type = movable_type(p.call.dtype)] {
    check(MPI_Gather(p.is_in_place ? MPI_IN_PLACE : p.in, p.count, type, p.out, p.count, type, p.call.root,
                     p.communicator),
          "gather");
  };
}

std::function<void()> scatter(const Prepared& p) {
  return [p, type = movable_type(p.call.dtype)] {
    check(MPI_Scatter(p.in, p.count, type, p.is_in_place ? MPI_IN_PLACE : p.out, p.count, type, p.call.root,
                      p.communicator),
          "scatter");
  };
}

/// Returns the numbers of elements of all parts, and where they begin, as MPI counts them.
std::array<std::vector<int>, 2> counts_of(const RangeOf& range_of, const Tensor& side, int size) {
  count_of(side);  // checks that all fit
  std::array<std::vector<int>, 2> counts;
  for (int rank = 0; rank < size; ++rank) {
    counts[0].push_back(static_cast<int>(range_of(rank).count));
    counts[1].push_back(static_cast<int>(range_of(rank).begin));
  }
  return counts;
}

std::function<void()> all_to_all(const Prepared& p) {
  const MPI_Datatype type = movable_type(p.call.dtype);
  if (p.call.in_counts.empty() && p.call.out_counts.empty()) {
    return [p, type] {
      check(MPI_Alltoall(p.in, p.count, type, p.out, p.count, type, p.communicator), "all-to-all");
    };
  }
  int size = 0;
  MPI_Comm_size(p.communicator, &size);
  return [p, type, in = counts_of(p.call.part, p.call.in, size),
          out = counts_of(p.call.arriving, p.call.out, size)] {
    check(MPI_Alltoallv(p.in, in[0].data(), in[1].data(), type, p.out, out[0].data(), out[1].data(), type,
                        p.communicator),
          "all-to-all");
  };
}

std::function<void()> barrier(const Prepared& p) {
  return [communicator = p.communicator] { check(MPI_Barrier(communicator), "start a barrier"); };
}

struct Preparation {
  OperationKind kind;
  std::function<void()> (*prepare)(const Prepared&);
};
constexpr auto preparations = std::to_array<Preparation>({{OperationKind::all_reduce, all_reduce},
                                                          {OperationKind::broadcast, broadcast},
                                                          {OperationKind::all_gather, all_gather},
                                                          {OperationKind::reduce_scatter, reduce_scatter},
                                                          {OperationKind::all_to_all, all_to_all},
                                                          {OperationKind::reduce, reduce},
                                                          {OperationKind::gather, gather},
                                                          {OperationKind::scatter, scatter},
                                                          {OperationKind::barrier, barrier}});

/// Returns where a range lies in the whole in place. MPI takes that of reduce_scatter at the beginning.
std::int64_t begin_in_place(const Collective& call, int rank) {
  return call.part && !call.reduces() ? call.part(rank).begin : 0;
}

}  // namespace

Collectives::Collectives() : state_(std::make_unique<State>()) {
  MPI_Comm_rank(state_->communicator, &state_->rank);
  MPI_Comm_size(state_->communicator, &state_->size);
}

Collectives::~Collectives() = default;

std::function<void()> Collectives::prepare(const Collective& call) const {
  const auto place = std::ranges::find(preparations, call.kind, &Preparation::kind);
  DT_CHECK(place != preparations.end(), "MPI's {} is not among the collectives", name_of(call.kind));
  Prepared p{.call = complete(call, state_->rank, state_->size), .communicator = state_->communicator};
  const Tensor &in = p.call.in, &out = p.call.out;
  const bool may_differ = traits(call.kind).in == Extent::parts;
  DT_CHECK(may_differ || !p.call.part || p.call.part(0).count * state_->size == p.call.numel,
           "{} parts of {} are not equal", state_->size, p.call.numel);
  p.count = to_count(p.call.part ? p.call.part(0).count : p.call.numel);
  p.in = in.raw();
  p.out = out.raw();
  if (in && out) {
    const bool is_whole = in.numel() >= out.numel();
    const Tensor &whole = is_whole ? in : out, &other = is_whole ? out : in;
    const auto begin =
        static_cast<std::size_t>(begin_in_place(p.call, state_->rank)) * dtype_bytes(p.call.dtype);
    p.is_in_place = other.raw() == whole.raw() + begin;
  }
  return place->prepare(p);
}

void Collectives::send(int peer, const Tensor& data) {
  check(MPI_Send(data.raw(), count_of(data), movable_type(data.dtype()), peer, message_tag,
                 state_->communicator),
        "send");
}

void Collectives::receive(int peer, const Tensor& data) {
  check(MPI_Recv(data.raw(), count_of(data), movable_type(data.dtype()), peer, message_tag,
                 state_->communicator, MPI_STATUS_IGNORE),
        "receive");
}

void Collectives::send_receive(int to, const Tensor& out, int from, const Tensor& in) {
  check(MPI_Sendrecv(out.raw(), count_of(out), movable_type(out.dtype()), to, message_tag, in.raw(),
                     count_of(in), movable_type(in.dtype()), from, message_tag, state_->communicator,
                     MPI_STATUS_IGNORE),
        "exchange messages");
}

}  // namespace dt::comm::mpi
