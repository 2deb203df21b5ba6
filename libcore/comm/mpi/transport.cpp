#include "comm/mpi/transport.hpp"

#include <algorithm>
#include <exception>
#include <sched.h>
#include <unistd.h>

#include "base/system/host.hpp"

namespace dt::comm::mpi {

namespace {

// MPI counts bytes with an int.
constexpr std::size_t max_message_bytes = std::size_t{1} << 30;
// A peer with a core of its own answers within spin_s, even by a copy of some MiB. Yielding could cost a time
// slice if other processes want the core. A peer that shares this rank's core needs the core. After yield_s
// the peer is busy with something long.
constexpr double spin_s = 2e-3;
constexpr double yield_s = 50e-3;
constexpr useconds_t sleep_us = 100;
// The time that a cancelled receive may take to end; it only needs MPI to make progress.
constexpr double withdraw_s = 0.1;

/// Calls `call` with consecutive ranges of no more than MPI's limit; once for no bytes.
template <class Byte, class Call>
void in_messages(std::span<Byte> bytes, const Call& call) {
  do {
    const std::size_t count = std::min(bytes.size(), max_message_bytes);
    call(bytes.data(), static_cast<int>(count));
    bytes = bytes.subspan(count);
  } while (!bytes.empty());
}

/// Returns the class of an error code, which Open MPI's codes are and MPICH's only contain.
int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

[[noreturn]] void fail_transfer(int code, int rank, int peer, bool is_send) {
  if (class_of(code) == MPI_ERR_TRUNCATE) {
    throw Error(ErrorKind::internal,
                fmt::format("rank {} received a longer message from rank {} than it expects", rank, peer));
  }
  throw environment_error("rank {} cannot {} rank {}: {}", rank, is_send ? "send to" : "receive from", peer,
                          words_of(code));
}

}  // namespace

MPI_Comm duplicate_of_world() {
  MPI_Comm duplicate = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate), "duplicate MPI_COMM_WORLD");
  return duplicate;
}

std::string words_of(int code) {
  std::string words(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, words.data(), &length);
  words.resize(static_cast<std::size_t>(length));
  return words;
}

bool have_cores_of_their_own() {
  MPI_Comm of_host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_host),
        "find the ranks of a host");
  int num_ranks = 0;
  check(MPI_Comm_size(of_host, &num_ranks), "get the number of ranks of a host");
  cpu_set_t cores{};  // the cores that any of the ranks may use
  sched_getaffinity(0, sizeof cores, &cores);
  check(MPI_Allreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, of_host),
        "combine the cores of a host's ranks");
  MPI_Comm_free(&of_host);
  return num_ranks <= CPU_COUNT(&cores);
}

MpiTransport::MpiTransport(MPI_Comm communicator, bool may_spin)
    : communicator_(communicator), may_spin_(may_spin) {
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "set an error handler");
  check(MPI_Comm_rank(communicator_, &rank_), "get the rank");
  check(MPI_Comm_size(communicator_, &size_), "get the number of ranks");
}

MpiTransport::~MpiTransport() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  // Freeing may involve the other ranks, which do not come if something has gone wrong. A later group
  // that inherited the communicator's number would take a stray message for its own.
  if (is_over == 0 && requests_.empty() && !has_strays_ && std::uncaught_exceptions() == 0) {
    MPI_Comm_free(&communicator_);
  }
}

void MpiTransport::send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) {
  in_messages(bytes, [&](const std::byte* data, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(data, count, MPI_BYTE, to, tag, communicator_, &request), "start a send");
    add(request, {&pending, to, -1});
  });
}

void MpiTransport::receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) {
  in_messages(bytes, [&](std::byte* data, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(data, count, MPI_BYTE, from, tag, communicator_, &request), "start a receive");
    add(request, {&pending, from, count});
  });
}

void MpiTransport::add(MPI_Request request, const Transfer& transfer) {
  requests_.push_back(request);
  transfers_.push_back(transfer);
  ++*transfer.pending;
}

void MpiTransport::progress() {
  if (requests_.empty()) return;
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int num_finished = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &num_finished,
                                indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && class_of(code) != MPI_ERR_IN_STATUS) check(code, "test transfers");
  if (num_finished == MPI_UNDEFINED || num_finished == 0) return;
  for (int i = 0; i < num_finished; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (code == MPI_SUCCESS) statuses_[at].MPI_ERROR = MPI_SUCCESS;  // MPI sets it only if one failed
    finish(indices_[at], statuses_[at]);
  }
  drop_finished();
}

void MpiTransport::finish(int index, const MPI_Status& status) {
  const Transfer& transfer = transfers_[static_cast<std::size_t>(index)];
  const bool is_send = transfer.expected_bytes < 0;
  if (status.MPI_ERROR != MPI_SUCCESS) fail_transfer(status.MPI_ERROR, rank_, transfer.peer, is_send);
  int received = transfer.expected_bytes;
  if (!is_send) MPI_Get_count(&status, MPI_BYTE, &received);
  if (received != transfer.expected_bytes) {
    throw Error(ErrorKind::internal, fmt::format("rank {} expects {} bytes from rank {}, which sends {}",
                                                 rank_, transfer.expected_bytes, transfer.peer, received));
  }
  --*transfer.pending;
}

void MpiTransport::drop_finished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    transfers_[kept] = transfers_[i];
    ++kept;
  }
  requests_.resize(kept);
  transfers_.resize(kept);
}

bool MpiTransport::withdraw(Pending& pending) noexcept {
  const auto is_of_pending = [&](std::size_t i) {
    return transfers_[i].pending == &pending && requests_[i] != MPI_REQUEST_NULL;
  };
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    has_strays_ = has_strays_ || is_of_pending(i);
    if (is_of_pending(i) && transfers_[i].expected_bytes >= 0) MPI_Cancel(&requests_[i]);
  }
  const double give_up_s = monotonic_s() + (is_stuck_ ? 0 : withdraw_s);  // one timeout is enough to know
  bool is_withdrawn = true;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int is_done = is_of_pending(i) ? 0 : 1;
    do {
      if (is_done == 0 && MPI_Test(&requests_[i], &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) is_done = 1;
    } while (is_done == 0 && monotonic_s() < give_up_s);
    is_withdrawn = is_withdrawn && is_done != 0;
  }
  drop_finished();
  is_stuck_ = is_stuck_ || !is_withdrawn;
  return is_withdrawn;
}

void MpiTransport::idle(double waited_s) {
  if (waited_s < spin_s && may_spin_) return;
  if (waited_s < yield_s) {
    sched_yield();
  } else {
    usleep(sleep_us);
  }
}

std::unique_ptr<Transport> MpiTransport::split(std::optional<int> color, int key,
                                               std::span<const int> /*members*/) {
  MPI_Comm subgroup = MPI_COMM_NULL;
  check(MPI_Comm_split(communicator_, color.value_or(MPI_UNDEFINED), key, &subgroup), "split a communicator");
  if (!color) return {};
  return std::make_unique<MpiTransport>(subgroup, may_spin_);
}

}  // namespace dt::comm::mpi
