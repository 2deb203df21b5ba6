#include "parallel/schedule/drawing/drawing.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "base/numeric/index.hpp"

namespace dt::parallel {

namespace {

char letter_of(const Action& a, const PipelineSchedule& schedule) {
  if (a.kind == ActionKind::forward) return 'F';
  return a.kind == ActionKind::backward_weight && schedule.splits_backward ? 'W' : 'B';
}

/// Returns for each virtual stage how many virtual stages its rank has before it.
std::vector<int> chunks_of(const PipelineSchedule& schedule) {
  std::vector<int> chunks, of_rank(to_index(schedule.num_ranks()));
  for (const int rank : schedule.rank_of) chunks.push_back(of_rank[to_index(rank)]++);
  return chunks;
}

}  // namespace

double ComputationBlock::computing_s() const {
  double sum_s = 0;
  for (const Interval& interval : computing) sum_s += interval.duration_s();
  return sum_s;
}

std::vector<ComputationBlock> computation_blocks(const Drawing& drawing, int rank) {
  const std::vector<int> chunks = chunks_of(drawing.pipeline.schedule);
  std::vector<ComputationBlock> blocks;
  const ActionList& list = drawing.lists[to_index(rank)];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Action& a = list[i];
    if (!a.computes()) continue;
    const char letter = letter_of(a, drawing.pipeline.schedule);
    const int chunk = chunks[to_index(drawing.pipeline.stages.stage_of(a.unit))];
    const bool goes_on = !blocks.empty() && blocks.back().letter == letter &&
                         blocks.back().micro_batch == a.micro_batch && blocks.back().chunk == chunk;
    if (!goes_on) blocks.push_back({letter, a.micro_batch, chunk, {}});
    blocks.back().computing.push_back(drawing.timeline.actions[to_index(rank)][i]);
  }
  return blocks;
}

std::string format_short_time(double seconds) {
  struct Scale {
    double least_s;
    const char* unit;
  };
  static constexpr std::array scales{Scale{1, "s"}, Scale{1e-3, "ms"}, Scale{1e-6, "µs"}};
  if (seconds <= 0) return "0 s";
  const Scale& scale =
      *std::find_if(scales.begin(), scales.end() - 1, [&](const Scale& s) { return seconds >= s.least_s; });
  const double value = seconds / scale.least_s;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, scale.unit);
}

}  // namespace dt::parallel
