#include "parallel/schedule/validator.hpp"

#include "base/error.hpp"
#include "parallel/schedule/rank_validator.hpp"
#include "parallel/schedule/timeline.hpp"

namespace dt::parallel {

void validate_no_deadlock(std::span<const ActionList> lists, int pp) {
  const int dp = static_cast<int>(lists.size()) / pp;
  // Waits between ranks do not depend on times. Without overlap, no rank waits for less.
  simulate_timeline(lists, dp, {.seconds = [](int, const Action&) { return 0.0; }, .overlaps = false});
}

void validate_training_steps(std::span<const ActionList> lists, std::span<const StepShape> shapes,
                             const Pipeline& pipeline) {
  const std::size_t dp = shapes.size();
  DT_CHECK(lists.size() == dp * static_cast<std::size_t>(pipeline.num_ranks()), "{} lists for {} ranks",
           lists.size(), dp * static_cast<std::size_t>(pipeline.num_ranks()));
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    RankValidator rules(shapes[rank % dp], pipeline, static_cast<int>(rank / dp));
    std::size_t number = 0;
    try {
      for (const Action& action : lists[rank]) {
        rules.check(action);
        ++number;
      }
      rules.check_end();
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("rank {}, action {}: {}", rank, number, error.what()));
    }
  }
  validate_no_deadlock(lists, pipeline.num_ranks());
}

}  // namespace dt::parallel
