#pragma once
// What a rank sends to and receives from its neighbours on the pipeline's axis; see Payload for the rules.

#include <deque>
#include <functional>
#include <map>

#include "comm/communicator.hpp"
#include "parallel/action.hpp"
#include "parallel/groups.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

class Transfers {
 public:
  /// `rank` is this one's place on the axis. What was sent is handed to `release`. Context and groups must
  /// outlive it.
  Transfers(const Context& context, const Groups& ranks, int rank, std::function<void(Buffer&&)> release);

  /// Starts it, once the last but one before it in its channel is complete: waits for that. `buffer`, in
  /// which the data lies, is kept; without one the data must stay until finish().
  void send(const Action& send, const Tensor& data, Buffer&& buffer = {});
  /// Starts it; the data must not be read before the Work, or finish(), is done.
  comm::Work receive(const Action& receive, const Tensor& data);
  /// Waits for all that was started.
  void finish();

 private:
  struct Sent {
    Buffer buffer;
    comm::Work work;  // after what it reads: it goes first
  };
  comm::Communicator& channel(const Action& transfer) const;
  void settle_oldest(std::deque<Sent>& sent);

  const Context& context_;
  const Groups& ranks_;
  int rank_;
  std::function<void(Buffer&&)> release_;
  std::map<Channel, std::deque<Sent>> sent_;
  std::map<Channel, comm::Work> received_;  // the newest of each: those before it are complete sooner
};

}  // namespace dt::parallel
