#pragma once
// Ranks that run lists with numbers in place of tensors: a slow check of a step, independent of the
// validator. Everything that a rank uses must be there. The sums must be those of one rank that
// computes alone.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "parallel/schedule/builders.hpp"

namespace dt::parallel::paper {

using Value = std::uint64_t;
using Key = std::pair<int, int>;  // unit and micro-batch

/// Mixes values. The result depends on their order, as rounded sums do.
template <class... Values>
Value mix(Values... values) {
  Value h = 0x9e3779b97f4a7c15U;
  ((h = (h ^ static_cast<Value>(values)) * 0xff51afd7ed558ccdU, h ^= h >> 33U), ...);
  return h;
}

class Ranks {
 public:
  Ranks(std::span<const ActionList> lists, const Pipeline& pipeline, int dp, int zero)
      : lists_(lists), pipeline_(pipeline), dp_(dp), zero_(zero), ranks_(lists.size()) {}

  /// Returns what each unit's gradients become on each data-parallel rank. Unit −1 has the tied
  /// table's new weights, as both holders have them. Throws if a rank would abort, or if ranks
  /// would wait forever.
  std::map<std::pair<int, int>, Value> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) moved = take(rank) || moved;
      moved = meet() || moved;
    }
    return result();
  }

 private:
  struct Rank {
    std::size_t next = 0;
    std::map<Key, Value> x, dy, saved, backward_handoff;
    std::set<Key> coming_x, coming_dy;
    std::map<int, Value> sum, total;
    std::set<int> open, closed, whole;
    bool controlled = false, stepped = false;
    Value tied_gradient = 0, tied_weights = 0;
  };
  struct Sent {
    Action action;
    Value value;
  };
  struct Channel {
    std::deque<Sent> sent;
    std::deque<Action> posted;
  };

  static void need(bool condition, const std::string& what) {
    if (!condition) throw std::runtime_error(what);
  }
  static bool is_shared(const Action& a) {
    return a.kind == ActionKind::gather || a.kind == ActionKind::reduce || a.kind == ActionKind::control;
  }
  int last() const { return pipeline_.last_unit(); }

  bool take(int rank) {
    Rank& r = ranks_[static_cast<std::size_t>(rank)];
    const ActionList& list = lists_[static_cast<std::size_t>(rank)];
    if (r.next == list.size() || is_shared(list[r.next]) || !perform(rank, r, list[r.next])) return false;
    ++r.next;
    return true;
  }

  /// Lets the ranks of a stage, or all ranks, go on once all have come to the same shared action.
  /// Returns whether any did.
  bool meet() {
    for (std::size_t stage = 0; stage < ranks_.size() / static_cast<std::size_t>(dp_); ++stage) {
      if (meet(stage * static_cast<std::size_t>(dp_), static_cast<std::size_t>(dp_), false)) return true;
    }
    return meet(0, ranks_.size(), true);
  }
  bool meet(std::size_t first, std::size_t count, bool control) {
    const Action* what = nullptr;
    for (std::size_t i = first; i < first + count; ++i) {
      if (ranks_[i].next == lists_[i].size()) return false;
      const Action& a = lists_[i][ranks_[i].next];
      if (!is_shared(a) || (a.kind == ActionKind::control) != control) return false;
      need(!what || (what->kind == a.kind && what->unit == a.unit), "ranks do different things together");
      what = &a;
    }
    if (control) {
      for (const auto& [key, channel] : channels_)
        if (!channel.sent.empty()) return false;
    }
    for (std::size_t i = first; i < first + count; ++i) {
      together(ranks_[i], lists_[i][ranks_[i].next]);
      ++ranks_[i].next;
    }
    return true;
  }

  void together(Rank& r, const Action& a) {
    if (a.kind == ActionKind::gather) need(r.whole.insert(a.unit).second, "gathered twice");
    if (a.kind == ActionKind::control) r.controlled = true;
    if (a.kind != ActionKind::reduce) return;
    need(zero_ >= 2 || r.closed.insert(a.unit).second, "reduced twice");
    need(!r.controlled, "reduced after control");
    if (zero_ >= 2 && a.micro_batch >= 0) {
      need(r.open.erase(a.unit) == 1, "nothing to reduce");
      r.total[a.unit] = mix(r.total[a.unit], r.sum[a.unit], a.micro_batch);
      r.sum[a.unit] = 0;
    } else {
      r.total[a.unit] = mix(r.total[a.unit], zero_ >= 2 ? Value{0} : r.sum[a.unit]);
    }
  }

  void add_gradient(Rank& r, int unit, Value value) {
    need(!r.closed.contains(unit), "a gradient after its reduce");
    if (zero_ >= 2) need(r.open.insert(unit).second, "gradients that were not reduced");
    r.sum[unit] = mix(r.sum[unit], value);
  }

  /// Performs an action and returns true, or returns false while something that the action needs is
  /// coming.
  bool perform(int rank, Rank& r, const Action& a) {
    using enum ActionKind;
    const Key key{a.unit, a.micro_batch}, before{a.unit - 1, a.micro_batch};
    const auto value_of = [](const std::map<Key, Value>& map, const Key& k, const char* what) {
      const auto found = map.find(k);
      need(found != map.end(), what);
      return found->second;
    };
    const auto input = [&] { return a.unit == 0 ? Value{7} : value_of(r.x, before, "no input"); };
    if (a.computes()) {
      need(pipeline_.rank_of(a.unit) == rank / dp_, "another rank's unit");
      need(!r.controlled, "computes after control");
      const bool uses = a.kind != backward_weight && !(a.kind == backward_input && a.unit == 0);
      need(!uses || zero_ == 0 || r.whole.contains(a.unit), "no weights");
    }
    switch (a.kind) {
      case forward:
        if (r.coming_x.contains(before)) return false;
        r.x[key] = mix(1, a.unit, a.micro_batch, input());
        r.saved[key] = mix(2, r.x[key]);
        if (a.unit == last()) add_gradient(r, a.unit, r.x[key]);
        return true;
      case discard:
        need(r.saved.erase(key) == 1, "nothing to discard");
        return true;
      case recompute:
        need(!r.saved.contains(key), "computed again for nothing");
        r.saved[key] = mix(2, mix(1, a.unit, a.micro_batch, input()));
        return true;
      case backward_input: {
        if (r.coming_dy.contains(key)) return false;
        const Value dy = a.unit == last() ? 3 : value_of(r.dy, key, "no dy");
        r.backward_handoff[key] = mix(4, dy, value_of(r.saved, key, "nothing saved"), input());
        if (a.unit > 0) r.dy[before] = mix(5, r.backward_handoff[key]);
        return true;
      }
      case backward_weight: {
        const Value dy = a.unit == last() ? 3 : value_of(r.dy, key, "no dy");
        const Value value = mix(6, value_of(r.backward_handoff, key, "no handover"), dy, input());
        if (a.unit != last()) add_gradient(r, a.unit, value);
        r.backward_handoff.erase(key);
        r.saved.erase(key);
        r.dy.erase(key);
        r.x.erase(before);
        if (a.unit == last()) r.x.erase(key);
        return true;
      }
      case ActionKind::free:
        need(r.whole.erase(a.unit) == 1, "freed for nothing");
        return true;
      case send:
        return perform_send(rank, r, a);
      case receive:
        need(a.peer >= 0 && a.peer < pipeline_.num_ranks(), "no such peer");
        if (a.payload == Payload::activation) r.coming_x.insert(key);
        if (a.payload == Payload::gradient) r.coming_dy.insert(key);
        channel(a.peer * dp_ + rank % dp_, rank, a.payload).posted.push_back(a);
        deliver(channel(a.peer * dp_ + rank % dp_, rank, a.payload), r);
        return true;
      case step:
        need(r.controlled && !r.stepped, "a step at the wrong time");
        r.stepped = true;
        if (r.total.contains(0)) r.tied_weights = mix(r.total[0], r.tied_gradient);
        return true;
      default:
        return true;
    }
  }

  Channel& channel(int from, int to, Payload payload) { return channels_[{from, to, payload}]; }

  bool perform_send(int rank, Rank& r, const Action& a) {
    const int to = a.peer * dp_ + rank % dp_;
    need(a.peer >= 0 && a.peer < pipeline_.num_ranks() && to != rank, "no such peer");
    Channel& c = channel(rank, to, a.payload);
    if (c.sent.size() >= 2) return false;
    const Key key{a.unit, a.micro_batch};
    Value value = 0;
    if (a.payload == Payload::activation) value = take_value(r.x, key);
    if (a.payload == Payload::gradient) value = take_value(r.dy, key);
    if (a.payload == Payload::tied_gradient) {
      need(r.total.contains(last()), "the tied table's sum is not there");
      value = r.total[last()];
    }
    if (a.payload == Payload::tied_weights) {
      need(r.stepped, "no new weights");
      value = r.tied_weights;
    }
    c.sent.push_back({a, value});
    deliver(c, ranks_[static_cast<std::size_t>(to)]);
    return true;
  }
  static Value take_value(std::map<Key, Value>& map, const Key& key) {
    need(map.contains(key), "nothing to send");
    const Value value = map[key];
    map.erase(key);
    return value;
  }

  void deliver(Channel& c, Rank& to) {
    while (!c.sent.empty() && !c.posted.empty()) {
      const auto [a, value] = c.sent.front();
      need(a.unit == c.posted.front().unit && a.micro_batch == c.posted.front().micro_batch,
           "something else comes");
      const Key key{a.unit, a.micro_batch};
      if (a.payload == Payload::activation) to.x[key] = value;
      if (a.payload == Payload::gradient) to.dy[key] = value;
      if (a.payload == Payload::tied_gradient) {
        need(!to.controlled, "the tied table's sum comes too late");
        to.tied_gradient = value;
      }
      if (a.payload == Payload::tied_weights) {
        need(to.stepped, "new weights come before the step");
        to.tied_weights = value;
      }
      to.coming_x.erase(key);
      to.coming_dy.erase(key);
      c.sent.pop_front();
      c.posted.pop_front();
    }
  }

  std::map<std::pair<int, int>, Value> result() {
    std::map<std::pair<int, int>, Value> result;
    for (const auto& [key, c] : channels_) need(c.sent.empty() && c.posted.empty(), "a message is left");
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      Rank& r = ranks_[i];
      need(r.next == lists_[i].size() && r.stepped, "a rank does not come to its end");
      need(r.saved.empty() && r.backward_handoff.empty() && r.dy.empty() && r.x.empty(),
           "something is left in flight");
      need(zero_ < 3 || r.whole.empty(), "weights are left whole");
      const int d = static_cast<int>(i) % dp_;
      for (const auto& [unit, total] : r.total) result[{d, unit}] = total;
    }
    if (pipeline_.tied) add_tied(result);
    return result;
  }
  void add_tied(std::map<std::pair<int, int>, Value>& result) {
    for (int d = 0; d < dp_; ++d) {
      Rank& owner = rank_of(0, d);
      const Value gradient = pipeline_.has_split_tied_table() ? owner.tied_gradient : owner.total[last()];
      result[{d, -1}] = mix(owner.total[0], gradient);
      if (!pipeline_.has_split_tied_table()) continue;
      need(owner.tied_weights == result[{d, -1}] && rank_of(last(), d).tied_weights == owner.tied_weights,
           "holders of the tied table differ");
    }
  }
  Rank& rank_of(int unit, int d) {
    return ranks_[static_cast<std::size_t>(pipeline_.rank_of(unit) * dp_ + d)];
  }

  std::span<const ActionList> lists_;
  Pipeline pipeline_;
  int dp_;
  int zero_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<int, int, Payload>, Channel> channels_;
};

}  // namespace dt::parallel::paper
