#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/device_collectives/device_transport.hpp"
#include "parallel/schedule/builders.hpp"

using namespace dt::parallel;

namespace {

/// Builds lists for stages of `blocks` units, and one unit more on the first and on the last stage.
std::vector<ActionList> lists_of(const PipelineSchedule& schedule, int blocks, bool trains) {
  std::vector<int> counts(static_cast<std::size_t>(schedule.num_stages()), blocks);
  ++counts.front();
  ++counts.back();
  const int units = std::accumulate(counts.begin(), counts.end(), 0);
  const StepShape shape{.num_units = units,
                        .num_micro_batches = schedule.num_micro_batches,
                        .max_micro_batches = schedule.num_micro_batches,
                        .recompute = true};
  const Pipeline pipeline{schedule, stages_from_counts(counts, units)};
  return trains ? build_training_steps(shape, pipeline) : build_evaluations(shape, pipeline);
}

/// Ranks on GPUs. When a rank first computes an action of some kind, CUDA holds it up until all
/// receives that have begun are done.
class Ranks {
 public:
  explicit Ranks(const std::vector<ActionList>& lists, bool loads = true)
      : lists_(lists), loads_(loads), ranks_(lists.size()) {}

  /// Runs the lists. Returns how many ranks come to their lists' ends.
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
  /// Returns the most multiprocessors of a GPU that waiting receives held while the GPU computed. A
  /// receive waits when it has begun and its data have not come. The receives of a channel begin
  /// one after the other.
  int most_held() const { return most_held_; }

 private:
  using Channel = std::pair<int, Payload>;  // sender and payload
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
      if (a.computes()) count_held(self);
      if (loads_ && a.computes() && !self.loaded.contains(a.kind)) {
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

  void count_held(Rank& rank) {
    int held = 0;
    for (const auto& [channel, count] : rank.begun)
      held += rank.come[channel] < count ? dt::comm::max_ctas(dt::comm::DeviceGroupUse::pipeline) : 0;
    most_held_ = std::max(most_held_, held);
  }

  const std::vector<ActionList>& lists_;
  bool loads_;
  std::vector<Rank> ranks_;
  int most_held_ = 0;
};

}  // namespace

// When training with the V-shaped schedule, a rank may wait for data that others can make only
// after this rank's first backward.
TEST_CASE("a GPU that loads a kernel when all it receives has come does not wait in vain") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const int m : {1, 2, ranks, 3 * ranks}) {
      const std::map<std::string, PipelineSchedule> schedules{{"gpipe", gpipe(ranks, m)},
                                                              {"1f1b", one_f_one_b(ranks, m)},
                                                              {"zero-bubble", zero_bubble_h1(ranks, m)},
                                                              {"v-shaped", v_shaped(ranks, m)},
                                                              {"interleaved", interleaved(ranks, 2, m)}};
      for (const auto& [name, schedule] : schedules) {
        INFO(name << ", " << ranks << " ranks, " << m << " micro-batches");
        for (const int blocks : {1, 2}) {
          for (const bool trains : {false, true}) {
            const std::vector<ActionList> lists = lists_of(schedule, blocks, trains);
            Ranks walk(lists, !trains || name != "v-shaped");
            CHECK(walk.at_end() == ranks);
            // Receives hold 3 % of an H100's multiprocessors, and twice as many if a rank has two
            // stages.
            CHECK(walk.most_held() <= (name == "v-shaped" ? 8 : 4));
          }
        }
      }
    }
  }
}
