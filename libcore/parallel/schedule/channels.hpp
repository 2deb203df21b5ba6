#pragma once
// Lists the channels of a pipeline: which payloads travel between which ranks.

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

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
