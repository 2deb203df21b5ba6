#include "parallel/held.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "parallel/channels.hpp"

namespace dt::parallel {

namespace {

class Holdings {
 public:
  explicit Holdings(std::span<const UnitBytes> units) : units_(units) {}

  void take(const Action& a) {
    using enum ActionKind;
    switch (a.kind) {
      case forward:
        return add(of(a.unit).saved + of(a.unit).output);
      case discard:
        return add(-of(a.unit).saved);
      case recompute:
        return add(of(a.unit).saved);
      case backward_input:
        add(of(a.unit).handover);  // dx takes the place of x
        return add(is_head(a.unit) ? -of(a.unit).saved : 0);
      case backward_weight:  // frees dy; the head has none, and frees its own output
        return add(-of(a.unit).handover - of(a.unit).output - (is_head(a.unit) ? 0 : of(a.unit).saved));
      case receive:
        return add(transfer_bytes(a));
      case send:
        return take_send(a);
      case control:
        for (const auto& [peer, bytes] : sent_) {
          for (const std::int64_t one : bytes) add(-one);
        }
        return sent_.clear();
      default:
        return;
    }
  }
  std::int64_t most() const { return most_; }

 private:
  const UnitBytes& of(int unit) const { return units_[static_cast<std::size_t>(unit)]; }
  bool is_head(int unit) const { return unit + 1 == static_cast<int>(units_.size()); }
  static bool is_tied(const Action& a) {
    return a.payload == Payload::tied_gradient || a.payload == Payload::tied_weights;
  }
  std::int64_t transfer_bytes(const Action& a) const { return is_tied(a) ? 0 : of(a.unit).output; }

  void take_send(const Action& a) {
    std::deque<std::int64_t>& under_way = sent_[{a.peer, a.payload}];
    if (under_way.size() == most_sends_under_way) {
      add(-under_way.front());
      under_way.pop_front();
    }
    under_way.push_back(transfer_bytes(a));
  }
  void add(std::int64_t bytes) {
    held_ += bytes;
    most_ = std::max(most_, held_);
  }

  std::span<const UnitBytes> units_;
  std::map<std::pair<int, Payload>, std::deque<std::int64_t>> sent_;
  std::int64_t held_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace

std::int64_t most_held_bytes(const ActionList& list, std::span<const UnitBytes> units) {
  Holdings holdings(units);
  for (const Action& action : list) holdings.take(action);
  return holdings.most();
}

}  // namespace dt::parallel
