#include "comm/mpi/collectives.hpp"

#include <mpi.h>

#include "base/error.hpp"
#include "comm/mpi/transport.hpp"

namespace dt::comm::mpi {

struct Collectives::State {
  MPI_Comm communicator = duplicate_of_world();
  int rank = 0;
  int size = 1;
};

namespace {

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

int count_of(const Tensor& tensor) {
  constexpr std::int64_t most = Collectives::max_count;
  DT_CHECK(tensor.numel() <= most, "MPI counts at most {} elements, not {}", most, tensor.numel());
  return static_cast<int>(tensor.numel());
}

void check_parts(const Tensor& range, const Tensor& whole, int size) {
  DT_CHECK(range.numel() * size == whole.numel() && range.dtype() == whole.dtype(),
           "{} parts of {} elements are not {}", size, range.numel(), whole.numel());
}

}  // namespace

Collectives::Collectives() : state_(std::make_unique<State>()) {
  MPI_Comm_rank(state_->communicator, &state_->rank);
  MPI_Comm_size(state_->communicator, &state_->size);
}

Collectives::~Collectives() = default;

void Collectives::all_reduce(const Tensor& in, const Tensor& out, Reduction reduction) {
  check_parts(in, out, 1);
  const void* source = in.raw() == out.raw() ? MPI_IN_PLACE : in.raw();
  check(MPI_Allreduce(source, out.raw(), count_of(in), reducible_type(in.dtype()), operation_of(reduction),
                      state_->communicator),
        "all-reduce");
}

void Collectives::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction) {
  check_parts(out, in, state_->size);
  const void* source = in.raw() == out.raw() ? MPI_IN_PLACE : in.raw();
  check(MPI_Reduce_scatter_block(source, out.raw(), count_of(out), reducible_type(in.dtype()),
                                 operation_of(reduction), state_->communicator),
        "reduce-scatter");
}

void Collectives::all_gather(const Tensor& in, const Tensor& out) {
  check_parts(in, out, state_->size);
  const bool is_in_place = in.raw() == out.raw() + static_cast<std::size_t>(state_->rank) * in.bytes();
  const MPI_Datatype type = movable_type(in.dtype());
  check(MPI_Allgather(is_in_place ? MPI_IN_PLACE : in.raw(), count_of(in), type, out.raw(), count_of(in),
                      type, state_->communicator),
        "all-gather");
}

void Collectives::broadcast(const Tensor& data, int root) {
  check(MPI_Bcast(data.raw(), count_of(data), movable_type(data.dtype()), root, state_->communicator),
        "broadcast");
}

void Collectives::barrier() {
  check(MPI_Barrier(state_->communicator), "meet at a barrier");
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
