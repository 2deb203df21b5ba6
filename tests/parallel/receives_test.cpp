#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parallel/builders.hpp"

using namespace dt::parallel;

namespace {

std::vector<ActionList> lists_of(const Schedule& schedule) {
  const int units = 2 * schedule.num_stages();
  const Stages stages =
      stages_of_counts(std::vector<int>(static_cast<std::size_t>(schedule.num_stages()), 2), units);
  return build_training_steps({.num_units = units,
                               .num_micro_batches = schedule.num_micro_batches,
                               .rounds = schedule.num_micro_batches,
                               .recompute = true},
                              {schedule, stages});
}

/// Ranks on GPUs, each of which CUDA holds up when something is computed there for the first time: until all
/// receives that have begun are done.
class Ranks {
 public:
  explicit Ranks(const std::vector<ActionList>& lists) : lists_(lists), ranks_(lists.size()) {}

  /// How many come to their lists' ends.
  int at_end() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) moved = go_on(rank) || moved;
    }
    int count = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      count += ranks_[rank].next == lists_[rank].size() ? 1 : 0;
    return count;
  }

 private:
  using Channel = std::pair<int, Payload>;  // by the sender
  struct Rank {
    std::size_t next = 0;
    std::set<ActionKind> loaded{};
    std::map<Channel, int> begun{}, come{};
  };

  bool go_on(int rank) {
    const ActionList& list = lists_[static_cast<std::size_t>(rank)];
    Rank& self = ranks_[static_cast<std::size_t>(rank)];
    const std::size_t before = self.next;
    for (; self.next < list.size(); ++self.next) {
      const Action& a = list[self.next];
      if (a.kind == ActionKind::send) ++ranks_[static_cast<std::size_t>(a.peer)].come[{rank, a.payload}];
      if (a.kind == ActionKind::receive) ++self.begun[{a.peer, a.payload}];
      if (a.computes() && !self.loaded.contains(a.kind)) {
        if (waits(self)) break;
        self.loaded.insert(a.kind);
      }
    }
    return self.next > before;
  }
  static bool waits(Rank& rank) {
    for (const auto& [channel, count] : rank.begun) {
      if (rank.come[channel] < count) return true;
    }
    return false;
  }

  const std::vector<ActionList>& lists_;
  std::vector<Rank> ranks_;
};

}  // namespace

// In the V-shaped schedule a rank may wait for what others make only after its own first backward.
TEST_CASE("a GPU that loads a kernel when all it receives has come does not wait in vain") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const int m : {1, 2, ranks, 3 * ranks}) {
      const std::map<std::string, Schedule> schedules{{"gpipe", gpipe(ranks, m)},
                                                      {"1f1b", one_f_one_b(ranks, m)},
                                                      {"zero-bubble", zero_bubble_h1(ranks, m)},
                                                      {"interleaved", interleaved(ranks, 2, m)}};
      for (const auto& [name, schedule] : schedules) {
        INFO(name << ", " << ranks << " ranks, " << m << " micro-batches");
        const std::vector<ActionList> lists = lists_of(schedule);
        CHECK(Ranks(lists).at_end() == ranks);
      }
    }
  }
}
