#include "parallel/schedule/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

namespace {

/// The transfers that have arrived at a channel.
struct ChannelState {
  struct Side {
    std::vector<Action> actions;
    std::vector<double> at_s;
  };
  Side sends, receives;
  std::vector<double> done_s;  // ends of transfers at which both sides have arrived
};

/// An operation that ranks do together, once.
struct PendingCollective {
  Action what;
  int first_rank = 0;
  int arrived = 0;
  double latest_s = 0;
  double done_s = -1;  // not yet
};

struct Group {
  int size = 0;
  std::vector<PendingCollective> meetings;
};

class Simulation {
 public:
  Simulation(std::span<const ActionList> lists, int dp, const CostModel& clock)
      : lists_(lists),
        dp_(dp),
        clock_(clock),
        ranks_(lists.size()),
        groups_(lists.size() / to_index(dp), {dp, {}}) {
    groups_.push_back({static_cast<int>(lists.size()), {}});  // all ranks
    for (const ActionList& list : lists) timeline_.actions.emplace_back().reserve(list.size());
    timeline_.computing_s.resize(lists.size());
  }

  Timeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < static_cast<int>(lists_.size()); ++rank) {
        while (advance(rank)) moved = true;
      }
    }
    check_end();
    return std::move(timeline_);
  }

 private:
  struct Rank {
    std::size_t next = 0;
    double now_s = 0;
    std::optional<std::size_t> meeting;  // meeting at which the next action has arrived
    std::map<int, std::size_t> met;      // by group, how often
    std::map<int, std::size_t> gathers;  // by unit: number of its last gather in the stage's group
    std::map<std::tuple<Payload, int, int>, std::pair<ChannelState*, std::size_t>>
        receives;                                              // by payload, unit and micro-batch
    std::vector<std::pair<ChannelState*, std::size_t>> sends;  // control waits for them
  };

  /// Takes the rank's next action, if all that it waits for has come.
  bool advance(int rank) {
    Rank& r = ranks_[to_index(rank)];
    if (r.next == lists_[to_index(rank)].size()) return false;
    const Action& action = lists_[to_index(rank)][r.next];
    const std::optional<double> ready_s = action.transfers()  ? take_transfer(rank, action)
                                          : is_shared(action) ? meet(rank, action)
                                                              : inputs_of(rank, action);
    if (!ready_s) return false;
    const double start_s = std::max(r.now_s, *ready_s);
    const double seconds =
        action.computes() || action.kind == ActionKind::step ? clock_.seconds(rank, action) : 0;
    if (action.computes()) timeline_.computing_s[to_index(rank)] += seconds;
    r.now_s = start_s + seconds;
    timeline_.actions[to_index(rank)].push_back({start_s, r.now_s});
    ++r.next;
    r.meeting.reset();
    return true;
  }

  static bool is_shared(const Action& a) {
    return a.kind == ActionKind::gather || a.kind == ActionKind::reduce || a.kind == ActionKind::control;
  }

  static std::optional<double> done(const std::pair<ChannelState*, std::size_t>& transfer) {
    const auto& [channel, k] = transfer;
    return k < channel->done_s.size() ? std::optional(channel->done_s[k]) : std::nullopt;
  }

  /// Returns when a computation's input, or dy, has been received, and its weights have been
  /// gathered.
  std::optional<double> inputs_of(int rank, const Action& a) {
    if (!a.computes()) return 0;
    Rank& r = ranks_[to_index(rank)];
    const bool is_back = a.kind == ActionKind::backward_input;
    const auto received = r.receives.find(
        {is_back ? Payload::gradient : Payload::activation, is_back ? a.unit : a.unit - 1, a.micro_batch});
    double ready_s = 0;
    if (received != r.receives.end()) {
      const std::optional<double> arrived_s = done(received->second);
      if (!arrived_s) return {};
      ready_s = *arrived_s;
    }
    const auto gathered = r.gathers.find(a.unit);
    if (gathered == r.gathers.end() || a.kind == ActionKind::backward_weight) return ready_s;
    const double whole_s = groups_[to_index(rank / dp_)].meetings[gathered->second].done_s;
    return whole_s < 0 ? std::nullopt : std::optional(std::max(ready_s, whole_s));
  }

  /// Returns when the channel's next send may begin: those before it leave room, and a sum over ranks
  /// is complete.
  std::optional<double> ready_to_send(int rank, const Action& a, const ChannelState& channel) {
    const std::size_t k = channel.sends.actions.size();
    double room_s = 0;
    if (k >= max_sends_in_flight) {
      if (channel.done_s.size() + max_sends_in_flight <= k) return {};
      room_s = channel.done_s[k - max_sends_in_flight];
    }
    if (a.payload != Payload::tied_gradient) return room_s;
    const std::optional<double> summed_s = own_sums(rank);
    return summed_s ? std::optional(std::max(room_s, *summed_s)) : std::nullopt;
  }

  std::optional<double> take_transfer(int rank, const Action& a) {
    Rank& r = ranks_[to_index(rank)];
    const bool sends = a.kind == ActionKind::send;
    const int peer = a.peer * dp_ + rank % dp_;
    DT_CHECK(a.peer >= 0 && to_index(peer) < lists_.size() && peer != rank, "rank {}: {} has no such peer",
             rank, to_string(a));
    ChannelState& channel =
        channels_[sends ? Channel{rank, peer, a.payload} : Channel{peer, rank, a.payload}];
    ChannelState::Side& side = sends ? channel.sends : channel.receives;
    const std::size_t k = side.actions.size();
    const std::optional<double> ready_s = sends ? ready_to_send(rank, a, channel) : 0;
    if (!ready_s) return {};
    const double start_s = std::max(r.now_s, *ready_s);
    side.actions.push_back(a);
    side.at_s.push_back(start_s);
    if (sends) r.sends.emplace_back(&channel, k);
    if (!sends) r.receives[{a.payload, a.unit, a.micro_batch}] = {&channel, k};
    settle(channel, sends ? rank : peer, sends ? peer : rank);
    return start_s;
  }

  /// Completes the transfers at which both sides have arrived.
  void settle(ChannelState& channel, int sender, int receiver) {
    while (channel.done_s.size() < std::min(channel.sends.actions.size(), channel.receives.actions.size())) {
      const std::size_t k = channel.done_s.size();
      const Action &send = channel.sends.actions[k], &receive = channel.receives.actions[k];
      DT_CHECK(send.unit == receive.unit && send.micro_batch == receive.micro_batch,
               "rank {} does {} where rank {} does {}", sender, to_string(send), receiver,
               to_string(receive));
      const double before_s = k > 0 ? channel.done_s.back() : 0;
      const double start_s = std::max({before_s, channel.sends.at_s[k], channel.receives.at_s[k]});
      channel.done_s.push_back(start_s + clock_.seconds(sender, send));
      timeline_.communications.push_back({send, sender, receiver, {start_s, channel.done_s[k]}});
    }
  }

  /// Counts the rank in. Returns when it continues, or nothing if it must wait.
  std::optional<double> meet(int rank, const Action& a) {
    Rank& r = ranks_[to_index(rank)];
    const bool is_control = a.kind == ActionKind::control;
    double ready_s = 0;
    if (is_control) {
      const std::optional<double> complete_s = own_operations(rank);
      if (!complete_s) return {};
      ready_s = *complete_s;
    }
    const int index = is_control ? static_cast<int>(groups_.size()) - 1 : rank / dp_;
    Group& group = groups_[to_index(index)];
    if (!r.meeting) {
      r.meeting = r.met[index]++;
      arrive(group, *r.meeting, rank, a, std::max(ready_s, r.now_s));
      if (a.kind == ActionKind::gather) r.gathers[a.unit] = *r.meeting;
    }
    if (clock_.overlaps && !is_control) return r.now_s;
    const double done_s = group.meetings[*r.meeting].done_s;
    return done_s < 0 ? std::nullopt : std::optional(done_s);
  }

  void arrive(Group& group, std::size_t number, int rank, const Action& a, double now_s) {
    if (number == group.meetings.size()) group.meetings.push_back({{a.kind, a.unit}, rank});
    PendingCollective& meeting = group.meetings[number];
    DT_CHECK(meeting.what == (Action{a.kind, a.unit}), "rank {} does {} where rank {} does {}",
             meeting.first_rank, to_string(meeting.what), rank, to_string({a.kind, a.unit}));
    meeting.latest_s = std::max(meeting.latest_s, now_s);
    if (++meeting.arrived < group.size) return;
    const double before_s = number > 0 ? group.meetings[number - 1].done_s : 0;
    const double start_s = std::max(meeting.latest_s, before_s);
    meeting.done_s = start_s + clock_.seconds(rank, a);
    if (a.kind != ActionKind::control)
      timeline_.communications.push_back({meeting.what, meeting.first_rank, -1, {start_s, meeting.done_s}});
  }

  /// Returns when all sends and sums that the rank has started are complete.
  std::optional<double> own_operations(int rank) {
    double complete_s = 0;
    for (const auto& send : ranks_[to_index(rank)].sends) {
      const std::optional<double> done_s = done(send);
      if (!done_s) return {};
      complete_s = std::max(complete_s, *done_s);
    }
    const std::optional<double> summed_s = own_sums(rank);
    return summed_s ? std::optional(std::max(complete_s, *summed_s)) : std::nullopt;
  }

  /// Returns when all sums that the rank has started are complete.
  std::optional<double> own_sums(int rank) {
    const std::size_t met = ranks_[to_index(rank)].met[rank / dp_];
    if (met == 0) return 0;
    const double last_s = groups_[to_index(rank / dp_)].meetings[met - 1].done_s;  // they are done in order
    return last_s < 0 ? std::nullopt : std::optional(last_s);
  }

  void check_end() const {
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      const std::size_t next = ranks_[rank].next;
      DT_CHECK(next == lists_[rank].size(), "rank {} waits forever in its action {}, {}", rank, next,
               to_string(lists_[rank][next]));
    }
    for (const auto& [key, channel] : channels_) {
      const std::size_t k = channel.done_s.size();
      DT_CHECK(k == channel.sends.actions.size(), "rank {}: {} is not received", key.sender,
               to_string(channel.sends.actions[k]));
      DT_CHECK(k == channel.receives.actions.size(), "rank {}: {} is not sent", key.receiver,
               to_string(channel.receives.actions[k]));
    }
    for (const Group& group : groups_) {
      for (const PendingCollective& meeting : group.meetings)
        DT_CHECK(meeting.arrived == group.size, "rank {} does {}, but not all ranks of its group do",
                 meeting.first_rank, to_string(meeting.what));
    }
  }

  std::span<const ActionList> lists_;
  int dp_;
  const CostModel& clock_;
  std::vector<Rank> ranks_;
  std::vector<Group> groups_;                 // by stage, then all ranks
  std::map<Channel, ChannelState> channels_;  // between ranks, not their places on the pipeline's axis
  Timeline timeline_;
};

}  // namespace

double Timeline::end_s() const {
  double end_s = 0;
  for (const auto& rank : actions) end_s = rank.empty() ? end_s : std::max(end_s, rank.back().end_s);
  return end_s;
}

double Timeline::bubble_ratio() const {
  const double busiest_s = *std::max_element(computing_s.begin(), computing_s.end());
  return busiest_s > 0 ? end_s() / busiest_s - 1 : 0;
}

Timeline simulate_timeline(std::span<const ActionList> lists, int dp, const CostModel& clock) {
  return Simulation(lists, dp, clock).run();
}

}  // namespace dt::parallel
