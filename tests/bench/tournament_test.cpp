#include <catch2/catch.hpp>
#include <set>

#include "bench/links.hpp"

using namespace dt::bench;

namespace {

/// Returns the pairs of all rounds; checks that no pair occurs twice.
std::set<Pair> all_pairs(const std::vector<PairRound>& rounds) {
  std::set<Pair> pairs;
  for (const PairRound& round : rounds) {
    for (const Pair& pair : round) {
      CHECK(pair.a < pair.b);
      CHECK(pairs.insert(pair).second);
    }
  }
  return pairs;
}

std::vector<std::string> names(const std::vector<int>& ranks_on_hosts) {
  std::vector<std::string> names;
  for (std::size_t host = 0; host < ranks_on_hosts.size(); ++host)
    names.insert(names.end(), static_cast<std::size_t>(ranks_on_hosts[host]), "n" + std::to_string(host));
  return names;
}

}  // namespace

TEST_CASE("in a tournament all ranks meet all others, one at a time, in as few rounds as possible") {
  for (int n = 0; n <= 9; ++n) {
    INFO(n);
    const std::vector<PairRound> rounds = tournament(n);
    CHECK(static_cast<int>(all_pairs(rounds).size()) == n * (n - 1) / 2);
    CHECK(static_cast<int>(rounds.size()) == (n < 2 ? 0 : n - 1 + n % 2));
    for (const PairRound& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        CHECK(busy.insert(a).second);
        CHECK(busy.insert(b).second);
        CHECK(b < n);
      }
    }
  }
}

TEST_CASE("all ranks meet all, and no host has two pairs at once") {
  const std::vector<std::vector<int>> jobs{{}, {1}, {5}, {1, 1, 1}, {2, 2, 2, 2}, {3, 1, 4}, {8, 8, 8}};
  for (const std::vector<int>& ranks_on_hosts : jobs) {
    const std::vector<std::string> hosts = names(ranks_on_hosts);
    const std::vector<PairRound> rounds = rounds_of_pairs(hosts);
    CHECK(all_pairs(rounds).size() == hosts.size() * (hosts.empty() ? 0 : hosts.size() - 1) / 2);
    for (const PairRound& round : rounds) {
      std::set<std::string> busy;
      for (const auto& [a, b] : round) {
        const std::string &one = hosts[static_cast<std::size_t>(a)],
                          &other = hosts[static_cast<std::size_t>(b)];
        CHECK(busy.insert(one).second);
        CHECK((one == other || busy.insert(other).second));
      }
    }
  }
}

TEST_CASE("hosts meet at once, as many rounds as the header says") {
  CHECK(rounds_of_pairs(names({8, 8, 8, 8})).size() == 28 + 3 * 64);
  CHECK(rounds_of_pairs(names({2, 2, 2})).size() == 1 + 3 * 4);
}

TEST_CASE("where ranks of a host are not neighbours they are its ranks all the same") {
  const std::vector<PairRound> rounds = rounds_of_pairs({"n1", "n2", "n1", "n2"});
  CHECK(rounds.front() == PairRound{{0, 2}, {1, 3}});
  CHECK(rounds.size() == 5);
}
