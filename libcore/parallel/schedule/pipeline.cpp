#include "parallel/schedule/pipeline.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::parallel {

namespace {

using model::PipelineScheduleKind;

Stages stages_of_ranges(const model::StageUnits& ranges) {
  Stages stages{{0}};
  for (const std::vector<model::UnitRange>& of_rank : ranges) {
    for (const model::UnitRange& range : of_rank) stages.begins.push_back(range.end);
  }
  std::sort(stages.begins.begin(), stages.begins.end());
  return stages;
}

bool share_a_rank(const Channel& a, const Channel& b) {
  return a.sender == b.sender || a.sender == b.receiver || a.receiver == b.sender || a.receiver == b.receiver;
}

}  // namespace

PipelineSchedule schedule_of(const model::Layout& layout, int num_micro_batches) {
  switch (layout.schedule) {
    case PipelineScheduleKind::gpipe:
      return gpipe(layout.pp, num_micro_batches);
    case PipelineScheduleKind::one_f_one_b:
      return one_f_one_b(layout.pp, num_micro_batches);
    case PipelineScheduleKind::interleaved:
      return interleaved(layout.pp, layout.virtual_stages, num_micro_batches);
    case PipelineScheduleKind::zero_bubble:
      return layout.virtual_stages == 1 ? zero_bubble_h1(layout.pp, num_micro_batches)
                                        : v_shaped(layout.pp, num_micro_batches);
  }
  DT_CHECK(false, "schedule {}", static_cast<int>(layout.schedule));
}

model::StageUnits stage_units_of(const Stages& stages, const PipelineSchedule& schedule) {
  model::StageUnits ranges(to_index(schedule.num_ranks()));
  for (int stage = 0; stage < stages.num_stages(); ++stage)
    ranges[to_index(schedule.rank_of[to_index(stage)])].push_back({stages.begin(stage), stages.end(stage)});
  return ranges;
}

Pipeline pipeline_of(const model::Layout& layout, int num_units, int num_micro_batches, bool tied) {
  const model::StageUnits ranges =
      layout.stages.empty() ? model::even_stages(num_units, layout.pp) : layout.stages;
  Pipeline pipeline{schedule_of(layout, num_micro_batches), stages_of_ranges(ranges), tied};
  DT_CHECK(pipeline.stages.num_stages() == pipeline.schedule.num_stages() &&
               pipeline.num_units() == num_units &&
               stage_units_of(pipeline.stages, pipeline.schedule) == ranges,
           "the table of stages is not the schedule's ({})", layout.to_string());
  return pipeline;
}

std::string to_string(const Channel& channel) {
  return fmt::format("{} from stage {} to stage {}", name_of(channel.payload), channel.sender,
                     channel.receiver);
}

Channel channel_of(const Action& transfer, int rank) {
  const bool sends = transfer.kind == ActionKind::send;
  return {sends ? rank : transfer.peer, sends ? transfer.peer : rank, transfer.payload};
}

std::vector<Channel> channels_of(const Pipeline& pipeline) {
  std::set<Channel> all;
  const auto add = [&](int from, int to, Payload forth, Payload back) {
    if (from == to) return;
    all.insert({from, to, forth});
    all.insert({to, from, back});
  };
  const std::vector<int>& rank_of = pipeline.schedule.rank_of;
  for (std::size_t stage = 0; stage + 1 < rank_of.size(); ++stage)
    add(rank_of[stage], rank_of[stage + 1], Payload::activation, Payload::gradient);
  if (pipeline.has_split_tied_table())
    add(rank_of.back(), rank_of.front(), Payload::tied_gradient, Payload::tied_weights);
  return {all.begin(), all.end()};
}

std::vector<std::vector<Channel>> disjoint_channel_rounds(std::span<const Channel> channels) {
  std::vector<std::vector<Channel>> rounds;
  for (const Channel& channel : channels) {
    const auto free = std::find_if(rounds.begin(), rounds.end(), [&](const std::vector<Channel>& round) {
      return std::none_of(round.begin(), round.end(),
                          [&](const Channel& other) { return share_a_rank(channel, other); });
    });
    (free == rounds.end() ? rounds.emplace_back() : *free).push_back(channel);
  }
  return rounds;
}

}  // namespace dt::parallel
