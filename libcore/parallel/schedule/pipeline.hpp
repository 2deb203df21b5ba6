#pragma once
// Describes which rank computes what in a step: a schedule over the stages of a model. Lists the channels
// of such a pipeline: which payloads travel between which ranks.

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/layout.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/stages.hpp"

namespace dt::parallel {

struct Pipeline {
  PipelineSchedule schedule;
  Stages stages;
  bool tied = false;  // the first and the last unit hold one table

  int num_ranks() const { return schedule.num_ranks(); }
  int num_units() const { return stages.num_units(); }
  int last_unit() const { return num_units() - 1; }
  /// Returns the place on the pipeline's axis that computes a unit.
  int rank_of(int unit) const { return schedule.rank_of[static_cast<std::size_t>(stages.stage_of(unit))]; }
  /// Returns whether the tied table's holders are two ranks. The first unit's rank owns it.
  bool has_split_tied_table() const { return tied && rank_of(0) != rank_of(last_unit()); }
};

/// Returns the pipeline of a layout whose schedule, virtual stages and stages fit each other.
/// `num_micro_batches` are the most of any data-parallel rank.
/// Errors: internal, the table of stages is not the schedule's.
Pipeline pipeline_of(const model::Layout& layout, int num_units, int num_micro_batches, bool tied);

/// Returns the layout's schedule; micro-batches as above.
PipelineSchedule schedule_of(const model::Layout& layout, int num_micro_batches);
/// Returns the units of each stage rank's virtual stages, as a layout's table names them.
model::StageUnits stage_units_of(const Stages& stages, const PipelineSchedule& schedule);

/// One direction of one payload. It is a communicator of its own, whose k-th send meets its k-th
/// receive.
struct Channel {
  int sender = 0;  // places on the pipeline's axis
  int receiver = 0;
  Payload payload = Payload::none;
  auto operator<=>(const Channel&) const = default;
};

/// The most sends of a channel that are in flight at once. With n sends, a send starts only when
/// the n-th send before it in its channel is complete. A receive starts only when the data of the
/// n-th receive before it are in use. The executor, the validator and the estimates of memory and
/// time all follow this rule.
inline constexpr std::size_t max_sends_in_flight = 2;

/// Returns "activation from stage 0 to stage 1".
std::string to_string(const Channel& channel);

/// Returns the channel of a send or receive of stage rank `rank`.
Channel channel_of(const Action& transfer, int rank);

/// Returns all channels of a pipeline, each once.
std::vector<Channel> channels_of(const Pipeline& pipeline);

/// Returns the channels in rounds. No rank is an end of two channels of a round.
std::vector<std::vector<Channel>> disjoint_channel_rounds(std::span<const Channel> channels);

}  // namespace dt::parallel
