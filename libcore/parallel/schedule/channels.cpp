#include "parallel/schedule/channels.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace dt::parallel {

namespace {

bool share_a_rank(const Channel& a, const Channel& b) {
  return a.sender == b.sender || a.sender == b.receiver || a.receiver == b.sender || a.receiver == b.receiver;
}

}  // namespace

std::string to_string(const Channel& channel) {
  return fmt::format("{} from stage {} to stage {}", payload_name(channel.payload), channel.sender,
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
