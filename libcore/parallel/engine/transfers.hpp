#pragma once
// Sends to and receives from a rank's neighbours on the pipeline's axis; see Payload for the rules.

#include <deque>
#include <functional>
#include <map>

#include "comm/communicator.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/state/groups.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

class Transfers {
 public:
  /// `rank` is this rank's place on the axis. `release` takes the buffers that were sent. Context and
  /// groups must outlive the object.
  Transfers(const Context& context, const Groups& ranks, int rank, std::function<void(Buffer&&)> release);

  /// Waits until the second send before it in its channel is complete, then starts a send. Keeps
  /// `buffer`, which holds the data, until the send is complete. Without a buffer the data must
  /// stay until finish().
  void send(const Action& send, const Tensor& data, Buffer&& buffer = {});
  /// Starts a receive. The data must not be read before the Work, or finish(), is done.
  comm::Work receive(const Action& receive, const Tensor& data);
  /// Waits for all that was started.
  void finish();

 private:
  struct SendInFlight {
    Buffer buffer;
    comm::Work work;  // declared after what it reads, so that it is destroyed first
  };
  comm::Communicator& channel(const Action& transfer) const;
  void wait_oldest(std::deque<SendInFlight>& sent);

  const Context& context_;
  const Groups& ranks_;
  int rank_;
  std::function<void(Buffer&&)> release_;
  std::map<Channel, std::deque<SendInFlight>> sent_;
  std::map<Channel, comm::Work> received_;  // newest of each; earlier ones are complete sooner
};

}  // namespace dt::parallel
