#include "bench/links.hpp"

#include <algorithm>
#include <map>

#include "comm/exchange.hpp"
#include "tensor/host_tensor.hpp"

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

/// One rank's part in measuring.
class Player {
 public:
  Player(comm::Communicator& group, Backend& backend, const LinkSettings& settings, Workspace& workspace)
      : group_(group), backend_(backend), settings_(settings), workspace_(workspace) {}

  /// Measures a pair. The link has this rank's times, if the rank is one of the pair.
  Link meet(const Pair& pair) {
    Link link{.pair = pair, .wrong = 0};
    if (pair.a != group_.rank() && pair.b != group_.rank()) return link;
    const OwnTiming small = exchange(pair, settings_.small), large = exchange(pair, settings_.large);
    link.latency_s = small.seconds;
    link.seconds = large.seconds;
    link.wrong = small.wrong + large.wrong;
    return link;
  }

 private:
  OwnTiming exchange(const Pair& pair, const Problem& problem) {
    const int place = group_.rank() == pair.a ? 0 : 1, peer = place == 0 ? pair.b : pair.a;
    const Workspace::Views views = workspace_.views(problem, false, place, 0);
    const CollectiveCall call = backend_.transfer(peer, views.in, peer, views.out);
    return measure_own(workspace_.context(), problem, place, views, call, call, settings_.measure);
  }

  comm::Communicator& group_;
  Backend& backend_;
  const LinkSettings& settings_;
  Workspace& workspace_;
};

/// Distributes each rank's measurements of its own links to all ranks.
void share(comm::Communicator& group, std::vector<Link>& links) {
  std::vector<double> seconds;
  std::vector<std::int64_t> wrong;
  for (const Link& link : links) {
    seconds.insert(seconds.end(), {link.latency_s, link.seconds});
    wrong.push_back(*link.wrong);
  }
  if (links.empty()) return;
  const Tensor all = host_tensor(seconds);
  group.all_reduce(all, all, comm::Reduction::max).wait_host();
  comm::all_reduce_sum(group, wrong);
  for (std::size_t i = 0; i < links.size(); ++i) {
    links[i].latency_s = seconds[2 * i];
    links[i].seconds = seconds[2 * i + 1];
    links[i].wrong = wrong[i];
  }
}

std::vector<Link> play(comm::Communicator& group, Player& player, const std::vector<PairRound>& rounds,
                       const std::string& what, DeadlineTimer& limit) {
  std::vector<Link> links;
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    limit.begin(fmt::format("{}, round {} of {}", what, round + 1, rounds.size()));
    group.barrier().wait_host();
    for (const Pair& pair : rounds[round]) links.push_back(player.meet(pair));
  }
  share(group, links);
  limit.end();
  return links;
}

void judge(std::vector<Link>& links, double slow_below) {
  std::vector<std::string> likes;
  std::vector<double> rates;
  for (const Link& link : links) {
    likes.emplace_back(link.is_within_host ? "within" : "between");
    rates.push_back(link.gb_s());
  }
  const std::vector<RelativeRate> standings = compare_to_median(likes, rates, slow_below);
  for (std::size_t i = 0; i < links.size(); ++i) links[i].standing = standings[i];
}

void describe(std::vector<Link>& links, const LinkSettings& settings,
              const std::vector<std::string>& host_by_rank) {
  for (Link& link : links) {
    link.is_within_host = host_by_rank[static_cast<std::size_t>(link.pair.a)] ==
                          host_by_rank[static_cast<std::size_t>(link.pair.b)];
    link.small_bytes = settings.small.bytes();
    link.bytes = settings.large.bytes();
  }
}

/// Returns a round for each link that seems slow.
std::vector<PairRound> suspects(const std::vector<Link>& links) {
  std::vector<PairRound> rounds;
  for (const Link& link : links) {
    if (link.standing.is_slow) rounds.push_back({link.pair});
  }
  return rounds;
}

/// Replaces times by better ones. `again` holds some of the links, in the same order.
void take_better(std::vector<Link>& links, const std::vector<Link>& again) {
  auto link = links.begin();
  for (const Link& better : again) {
    link = std::find_if(link, links.end(), [&](const Link& known) { return known.pair == better.pair; });
    link->latency_s = std::min(link->latency_s, better.latency_s);
    link->seconds = std::min(link->seconds, better.seconds);
    *link->wrong += *better.wrong;
  }
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

std::vector<Link> measure_links(comm::Communicator& group, Backend& backend, const LinkSettings& settings,
                                const std::vector<std::string>& host_by_rank, Workspace& workspace,
                                DeadlineTimer& limit) {
  Player player(group, backend, settings, workspace);
  const std::string what = fmt::format("links by {}", backend.name());
  std::vector<Link> links = play(group, player, rounds_of_pairs(host_by_rank), what, limit);
  describe(links, settings, host_by_rank);
  judge(links, settings.slow_below);
  take_better(links, play(group, player, suspects(links), what + " (slow links again)", limit));
  judge(links, settings.slow_below);
  std::ranges::sort(links, {}, &Link::pair);
  for (Link& link : links) {
    if (settings.measure.checks == 0) link.wrong.reset();
  }
  return links;
}

}  // namespace dt::bench
