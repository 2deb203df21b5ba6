#include "bench/tournament.hpp"

#include <algorithm>
#include <map>

namespace dt::bench {

namespace {

Pair pair_of(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

/// Appends rounds. The k-th new round has the k-th pair of each list.
void take_turns(const std::vector<std::vector<Pair>>& lists, std::vector<PairRound>& rounds) {
  for (std::size_t k = 0;; ++k) {
    PairRound round;
    for (const std::vector<Pair>& list : lists) {
      if (k < list.size()) round.push_back(list[k]);
    }
    if (round.empty()) return;
    rounds.push_back(std::move(round));
  }
}

std::vector<Pair> within(const std::vector<int>& ranks) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = i + 1; j < ranks.size(); ++j) pairs.push_back(pair_of(ranks[i], ranks[j]));
  }
  return pairs;
}

std::vector<Pair> between(const std::vector<int>& these, const std::vector<int>& those) {
  std::vector<Pair> pairs;
  for (const int a : these) {
    for (const int b : those) pairs.push_back(pair_of(a, b));
  }
  return pairs;
}

std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& host_by_rank) {
  std::map<std::string, std::vector<int>> ranks_of;
  for (std::size_t rank = 0; rank < host_by_rank.size(); ++rank)
    ranks_of[host_by_rank[rank]].push_back(static_cast<int>(rank));
  std::vector<std::vector<int>> hosts;
  for (const auto& [host, ranks] : ranks_of) hosts.push_back(ranks);
  return hosts;
}

}  // namespace

std::vector<PairRound> tournament(int n) {
  std::vector<PairRound> rounds;
  const int others = n + n % 2 - 1;  // these go round, one stays; if n is odd, the partner of number n rests
  for (int turn = 0; turn < others; ++turn) {
    PairRound round;
    if (others < n) round.push_back(pair_of(turn, others));
    for (int i = 1; i <= others / 2; ++i)
      round.push_back(pair_of((turn + i) % others, (turn + others - i) % others));
    if (!round.empty()) rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<PairRound> rounds_of_pairs(const std::vector<std::string>& host_by_rank) {
  const std::vector<std::vector<int>> hosts = ranks_by_host(host_by_rank);
  std::vector<PairRound> rounds;
  std::vector<std::vector<Pair>> lists;
  for (const std::vector<int>& ranks : hosts) lists.push_back(within(ranks));
  take_turns(lists, rounds);
  for (const PairRound& of_hosts : tournament(static_cast<int>(hosts.size()))) {
    lists.clear();
    for (const auto& [a, b] : of_hosts)
      lists.push_back(between(hosts[static_cast<std::size_t>(a)], hosts[static_cast<std::size_t>(b)]));
    take_turns(lists, rounds);
  }
  return rounds;
}

}  // namespace dt::bench
