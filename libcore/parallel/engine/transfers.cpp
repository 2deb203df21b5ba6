#include "parallel/engine/transfers.hpp"

#include <utility>

namespace dt::parallel {

Transfers::Transfers(const Context& context, const Groups& ranks, int rank,
                     std::function<void(Buffer&&)> release)
    : context_(context), ranks_(ranks), rank_(rank), release_(std::move(release)) {}

/// Returns the communicator of the two ranks, which are in the order of their places.
comm::Communicator& Transfers::channel(const Action& transfer) const {
  return ranks_.channel(channel_of(transfer, rank_));
}

void Transfers::wait_oldest(std::deque<SendInFlight>& sent) {
  sent.front().work.wait(context_);
  release_(std::move(sent.front().buffer));
  sent.pop_front();
}

void Transfers::send(const Action& send, const Tensor& data, Buffer&& buffer) {
  std::deque<SendInFlight>& sent = sent_[channel_of(send, rank_)];
  if (sent.size() == max_sends_in_flight) wait_oldest(sent);
  comm::Communicator& to = channel(send);
  sent.push_back({std::move(buffer), to.send(1 - to.rank(), data)});
}

comm::Work Transfers::receive(const Action& receive, const Tensor& data) {
  comm::Communicator& from = channel(receive);
  return received_[channel_of(receive, rank_)] = from.receive(1 - from.rank(), data);
}

void Transfers::finish() {
  for (auto& [channel, sent] : sent_) {
    while (!sent.empty()) wait_oldest(sent);
  }
  for (auto& [channel, work] : received_) work.wait(context_);
  received_.clear();
}

}  // namespace dt::parallel
