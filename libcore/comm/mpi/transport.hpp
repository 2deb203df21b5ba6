#pragma once
// Sends messages through an MPI communicator.

#include <mpi.h>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/core/transport.hpp"

namespace dt::comm::mpi {

/// Returns MPI's words for one of its error codes.
std::string words_of(int code);

/// Throws if an MPI call failed.
/// Errors: environment, "MPI cannot <action>: <MPI's words>".
inline void check(int code, const char* action) {
  if (code != MPI_SUCCESS) throw environment_error("MPI cannot {}: {}", action, words_of(code));
}

/// Returns a new MPI communicator of all ranks.
/// Errors: environment. Collective: all ranks call it; blocks.
MPI_Comm duplicate_of_world();

/// Returns whether the ranks on this host have as many cores together as they are.
/// Errors: environment. Collective: all ranks of MPI_COMM_WORLD call it; blocks.
bool have_cores_of_their_own();

/// A transport over an MPI communicator of its own.
class MpiTransport : public Transport {
 public:
  /// Takes over the communicator. A rank that waits spins for a while if `may_spin`; otherwise it yields
  /// its core at once, for which the rank that it waits for may be waiting.
  MpiTransport(MPI_Comm communicator, bool may_spin);
  ~MpiTransport() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) override;
  void receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) override;
  void progress() override;
  /// Takes back only receives: MPI cannot take back a send for which no receive was posted.
  bool withdraw(Pending& pending) noexcept override;
  void idle(double waited_s) override;
  std::unique_ptr<Transport> split(std::optional<int> color, int key, std::span<const int> members) override;

 private:
  struct Transfer {
    Pending* pending;
    int peer;
    int expected_bytes;  // −1: a send
  };
  void add(MPI_Request request, const Transfer& transfer);
  void finish(int index, const MPI_Status& status);
  void drop_finished();

  MPI_Comm communicator_;
  bool may_spin_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Transfer> transfers_;  // by the same indices
  std::vector<int> indices_;         // filled by MPI_Testsome
  std::vector<MPI_Status> statuses_;
  bool is_stuck_ = false;    // a transfer could not be taken back
  bool has_strays_ = false;  // messages may come that no receive expects any more
};

}  // namespace dt::comm::mpi
