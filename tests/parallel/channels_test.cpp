// Tests which ranks of a pipeline send what to which, and the groups made for it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/error.hpp"
#include "comm/threads/thread_group.hpp"
#include "parallel/state/groups.hpp"

using namespace dt;
using namespace dt::parallel;
using model::PipelineScheduleKind;

namespace {

std::vector<Channel> channels(const model::Layout& layout, bool tied) {
  const int units = 3 * layout.pp * layout.virtual_stages;
  const std::vector<int> counts(static_cast<std::size_t>(layout.pp * layout.virtual_stages), 3);
  model::Layout laid = layout;
  laid.stages = stage_units_of(stages_from_counts(counts, units), schedule_of(layout, 1));
  return channels_of(pipeline_of(laid, units, 4, tied));
}

}  // namespace

TEST_CASE("each direction of each payload between two stages is one channel") {
  using enum Payload;
  CHECK(channels({.pp = 2}, false) == std::vector<Channel>{{0, 1, activation}, {1, 0, gradient}});
  CHECK(channels({.pp = 2}, true) ==
        std::vector<Channel>{
            {0, 1, activation}, {0, 1, tied_weights}, {1, 0, gradient}, {1, 0, tied_gradient}});
  // Activations go down the ranks and up again. Both ends are on one rank, so the tied table needs
  // no channel.
  const model::Layout v{.pp = 3, .schedule = PipelineScheduleKind::zero_bubble, .virtual_stages = 2};
  CHECK(channels(v, true).size() == 8);
  const model::Layout ring{.pp = 3, .schedule = PipelineScheduleKind::interleaved, .virtual_stages = 2};
  const auto around = channels(ring, false);
  CHECK(std::count(around.begin(), around.end(), Channel{2, 0, activation}) == 1);
  CHECK(to_string(around.front()) == "activation from stage 0 to stage 1");
}

TEST_CASE("rounds hold each channel once and each rank at most once, and are few") {
  for (const int pp : {2, 5, 16}) {
    const model::Layout layout{.pp = pp, .schedule = PipelineScheduleKind::interleaved, .virtual_stages = 2};
    const auto all = channels(layout, true);
    const auto rounds = disjoint_channel_rounds(all);
    std::set<Channel> seen;
    for (const auto& round : rounds) {
      std::set<int> ends;
      for (const Channel& c : round) {
        CHECK(seen.insert(c).second);
        CHECK(ends.insert(c.sender).second);
        CHECK(ends.insert(c.receiver).second);
      }
    }
    CHECK(seen.size() == all.size());
    CHECK(rounds.size() <= 9);
  }
}

TEST_CASE("a channel's group is its two ends of one pipeline") {
  const model::Layout layout{.pp = 3, .dp = 2};
  const auto all = channels(layout, true);
  const int failed = comm::run_threads(6, [&](comm::Communicator& world) {
    const Groups groups(layout, world, all);
    const model::MeshCoordinates place = layout.coordinates_of(world.rank());
    for (const Channel& c : all) {
      const bool is_mine = c.sender == place.pp || c.receiver == place.pp;
      if (!is_mine) continue;
      const std::vector<int> ends{std::min(c.sender, c.receiver) * 2 + place.dp,
                                  std::max(c.sender, c.receiver) * 2 + place.dp};
      if (groups.channel(c).members() != ends) return 1;
    }
    return 0;
  });
  CHECK(failed == 0);
  CHECK_THROWS_AS(Groups().channel({0, 1, Payload::activation}), Error);
}
