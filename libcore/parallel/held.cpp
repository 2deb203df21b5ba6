#include "parallel/held.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "parallel/channels.hpp"

namespace dt::parallel {

namespace {

/// Counts the buffers of each size. A buffer serves only demands of its own size (Activations::take), so each
/// size counts with the most that are held of it at one time.
class Holdings {
 public:
  explicit Holdings(std::span<const UnitBytes> units) : units_(units) {}

  void perform(const Action& a) {
    using enum ActionKind;
    switch (a.kind) {
      case forward:
        take(of(a.unit).saved);
        return take(of(a.unit).output);
      case discard:
        return give(of(a.unit).saved);
      case recompute:
        return take(of(a.unit).saved);
      case backward_input:
        take(of(a.unit).handover);  // dx takes the place of x
        return is_head(a.unit) ? give(of(a.unit).saved) : void();
      case backward_weight:
        if (!is_head(a.unit)) give(of(a.unit).saved);
        give(of(a.unit).handover);
        return give(of(a.unit).output);  // frees dy; the head has none, and frees its own output
      case receive:
        return take(transfer_bytes(a));
      case send:
        return take_send(a);
      case control:
        for (const auto& [peer, sizes] : sent_) {
          for (const std::int64_t bytes : sizes) give(bytes);
        }
        return sent_.clear();
      default:
        return;
    }
  }
  std::int64_t most_bytes() const {
    std::int64_t total = 0;
    for (const auto& [bytes, count] : counts_) total += bytes * count.most;
    return total;
  }

 private:
  struct Count {
    std::int64_t held = 0, most = 0;
  };
  const UnitBytes& of(int unit) const { return units_[static_cast<std::size_t>(unit)]; }
  bool is_head(int unit) const { return unit + 1 == static_cast<int>(units_.size()); }
  static bool is_tied(const Action& a) {
    return a.payload == Payload::tied_gradient || a.payload == Payload::tied_weights;
  }
  std::int64_t transfer_bytes(const Action& a) const { return is_tied(a) ? 0 : of(a.unit).output; }

  void take_send(const Action& a) {
    std::deque<std::int64_t>& under_way = sent_[{a.peer, a.payload}];
    if (under_way.size() == most_sends_under_way) {
      give(under_way.front());
      under_way.pop_front();
    }
    under_way.push_back(transfer_bytes(a));
  }
  void take(std::int64_t bytes) {
    Count& count = counts_[bytes];
    count.most = std::max(count.most, ++count.held);
  }
  void give(std::int64_t bytes) { --counts_[bytes].held; }

  std::span<const UnitBytes> units_;
  std::map<std::pair<int, Payload>, std::deque<std::int64_t>> sent_;
  std::map<std::int64_t, Count> counts_;  // by the bytes of a buffer
};

}  // namespace

std::int64_t most_held_bytes(const ActionList& list, std::span<const UnitBytes> units) {
  Holdings holdings(units);
  for (const Action& action : list) holdings.perform(action);
  return holdings.most_bytes();
}

}  // namespace dt::parallel
