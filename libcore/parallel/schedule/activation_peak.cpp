#include "parallel/schedule/activation_peak.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

namespace {

/// Counts the buffers of each size. A buffer serves only demands of its own size (Activations::acquire), so
/// each size counts with the most that are held of it at one time.
class ActivationCounter {
 public:
  explicit ActivationCounter(std::span<const UnitBytes> units) : units_(units) {}

  void perform(const Action& a) {
    using enum ActionKind;
    switch (a.kind) {
      case forward:
        acquire(of(a.unit).saved);
        return acquire(of(a.unit).output);
      case discard:
        return release(of(a.unit).saved);
      case recompute:
        return acquire(of(a.unit).saved);
      case backward_input:
        acquire(of(a.unit).backward_handoff);  // dx takes the place of x
        return is_head(a.unit) ? release(of(a.unit).saved) : void();
      case backward_weight:
        if (!is_head(a.unit)) release(of(a.unit).saved);
        release(of(a.unit).backward_handoff);
        return release(of(a.unit).output);  // frees dy; the head has none, and frees its own output
      case receive:
        return acquire(transfer_bytes(a));
      case send:
        return take_send(a);
      case control:
        for (const auto& [peer, sizes] : sent_) {
          for (const std::int64_t bytes : sizes) release(bytes);
        }
        return sent_.clear();
      default:
        return;
    }
  }
  std::int64_t most_bytes() const {
    std::int64_t total = 0;
    for (const auto& [bytes, count] : counts_) total += bytes * count.peak;
    return total;
  }

 private:
  struct LiveBuffers {
    std::int64_t live = 0, peak = 0;
  };
  const UnitBytes& of(int unit) const { return units_[static_cast<std::size_t>(unit)]; }
  bool is_head(int unit) const { return unit + 1 == static_cast<int>(units_.size()); }
  static bool is_tied(const Action& a) {
    return a.payload == Payload::tied_gradient || a.payload == Payload::tied_weights;
  }
  std::int64_t transfer_bytes(const Action& a) const { return is_tied(a) ? 0 : of(a.unit).output; }

  void take_send(const Action& a) {
    std::deque<std::int64_t>& in_flight = sent_[{a.peer, a.payload}];
    if (in_flight.size() == max_sends_in_flight) {
      release(in_flight.front());
      in_flight.pop_front();
    }
    in_flight.push_back(transfer_bytes(a));
  }
  void acquire(std::int64_t bytes) {
    LiveBuffers& count = counts_[bytes];
    count.peak = std::max(count.peak, ++count.live);
  }
  void release(std::int64_t bytes) { --counts_[bytes].live; }

  std::span<const UnitBytes> units_;
  std::map<std::pair<int, Payload>, std::deque<std::int64_t>> sent_;
  std::map<std::int64_t, LiveBuffers> counts_;  // by the bytes of a buffer
};

}  // namespace

std::int64_t activation_peak_bytes(const ActionList& list, std::span<const UnitBytes> units) {
  ActivationCounter counter(units);
  for (const Action& action : list) counter.perform(action);
  return counter.most_bytes();
}

}  // namespace dt::parallel
