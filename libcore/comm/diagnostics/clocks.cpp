#include "comm/diagnostics/clocks.hpp"

#include <cmath>

#include "tensor/host_tensor.hpp"

namespace dt::comm {

namespace {

/// The first questions are slow: connections are made, processors wake up.
constexpr int num_questions = 16;

/// Answers the questions of a peer, on rank 0.
void answer(Communicator& group, int peer, const std::function<double()>& clock) {
  for (int i = 0; i < num_questions; ++i) {
    double now_s = 0;
    group.receive(peer, host_tensor(now_s)).wait_host();
    now_s = clock();
    group.send(peer, host_tensor(now_s)).wait_host();
  }
}

ClockOffset ask(Communicator& group, const std::function<double()>& clock) {
  ClockOffset best;
  for (int i = 0; i < num_questions; ++i) {
    double asked_s = clock(), theirs_s = 0;
    group.send(0, host_tensor(asked_s)).wait_host();
    group.receive(0, host_tensor(theirs_s)).wait_host();
    const double middle_s = (asked_s + clock()) / 2, error_s = middle_s - asked_s;
    if (i == 0 || error_s < best.error_s) best = {.ahead_s = middle_s - theirs_s, .error_s = error_s};
  }
  if (std::abs(best.ahead_s) <= best.error_s) best.ahead_s = 0;  // the same host's clock, or as good as that
  return best;
}

}  // namespace

ClockOffset synchronize_clocks(Communicator& group, const std::function<double()>& clock) {
  ClockOffset common;
  if (group.rank() == 0) {
    for (int peer = 1; peer < group.size(); ++peer) answer(group, peer, clock);
  } else {
    common = ask(group, clock);
  }
  double zero_s = clock();  // rank 0's
  group.broadcast(host_tensor(zero_s), 0).wait_host();
  common.zero_s = zero_s + common.ahead_s;
  return common;
}

}  // namespace dt::comm
