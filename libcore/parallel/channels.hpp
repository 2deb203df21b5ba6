#pragma once
// Between whom of a pipeline what travels.

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/pipeline.hpp"

namespace dt::parallel {

/// One direction of one payload: a communicator of its own, whose k-th send meets its k-th receive.
struct Channel {
  int sender = 0;  // places on the pipeline's axis
  int receiver = 0;
  Payload payload = Payload::none;
  auto operator<=>(const Channel&) const = default;
};

/// A send starts only when the one so many before it in its channel is complete; a receive when that one's
/// data are in use. What runs lists, proves them and works out their memory and time all go by this.
inline constexpr std::size_t most_sends_under_way = 2;

/// "activation from stage 0 to stage 1"
std::string to_string(const Channel& channel);

/// The one that a send or receive of stage rank `rank` goes through.
Channel channel_of(const Action& transfer, int rank);

/// All of a pipeline's, each once.
std::vector<Channel> channels_of(const Pipeline& pipeline);

/// The same in rounds, in each of which no rank is an end of two.
std::vector<std::vector<Channel>> rounds_of(std::span<const Channel> channels);

}  // namespace dt::parallel
