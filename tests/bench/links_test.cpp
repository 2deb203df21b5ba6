#include "bench/links.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>

#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

const Problem small{.operation = Operation::send_receive, .num_ranks = 2, .numel = 2};
const Problem large{.operation = Operation::send_receive, .num_ranks = 2, .numel = 1000};
const MeasureSettings once{.iterations = 1, .warmup = 0, .checks = 1};
/// A pair exchanges this many large messages in one measurement: the beginning, the timed one, the check.
constexpr int calls = 3;
/// Delays of quick and slow links, well apart from each other and well above the noise of a busy machine.
constexpr double quick_s = 0.02, slow_s = 0.4;
/// The delay of slow links that are not to be found: noise makes quick ones only more like them.
constexpr double moderate_s = 0.2;
constexpr double slow_below = 0.2;

/// A backend that sends dt's messages, each large one with a delay. `seconds` gives the delay by pair and
/// by the message's number, counted from the pair's first.
class PlayedBackend final : public Backend {
 public:
  using Seconds = std::function<double(Pair, int call)>;
  PlayedBackend(comm::Communicator& group, Seconds seconds)
      : group_(group), inner_(group), seconds_(std::move(seconds)) {}
  const char* name() const override { return "played"; }
  void require(Operation, DType, comm::Reduction) const override {}
  int in_place_part(Operation) const override { return 0; }
  CollectiveCall prepare(const Problem& problem, const Tensor& in, const Tensor& out) override {
    return inner_.prepare(problem, in, out);
  }
  CollectiveCall transfer(int to, const Tensor& in, int from, const Tensor& out) override {
    const Pair pair{std::min(group_.rank(), to), std::max(group_.rank(), to)};
    const CollectiveCall call = inner_.transfer(to, in, from, out);
    if (in.numel() == small.numel) return call;
    return {[this, pair, call] {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_(pair, num_calls_[pair]++)));
      call();
    }};
  }

 private:
  comm::Communicator& group_;
  DtBackend inner_;
  Seconds seconds_;
  std::map<Pair, int> num_calls_;
};

/// Returns the links as rank 0 has them; all ranks have the same.
std::vector<Link> played(const std::vector<std::string>& hosts, const PlayedBackend::Seconds& seconds,
                         const MeasureSettings& settings = once) {
  std::vector<std::vector<Link>> of_rank(hosts.size());
  comm::run_threads(static_cast<int>(hosts.size()), [&](comm::Communicator& group) {
    const Context context(1, Device::host());
    Workspace workspace(context, large.bytes());
    PlayedBackend backend(group, seconds);
    DeadlineTimer limit(60, [](const Error&) {});
    of_rank[static_cast<std::size_t>(group.rank())] =
        measure_links(group, backend, {small, large, settings, slow_below}, hosts, workspace, limit);
    return 0;
  });
  for (const std::vector<Link>& links : of_rank) {
    REQUIRE(links.size() == of_rank[0].size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      CHECK(links[i].pair == of_rank[0][i].pair);
      CHECK(links[i].seconds == of_rank[0][i].seconds);
      CHECK(links[i].latency_s == of_rank[0][i].latency_s);
    }
  }
  return of_rank[0];
}

std::vector<Pair> slow_ones(const std::vector<Link>& links) {
  std::vector<Pair> pairs;
  for (const Link& link : links) {
    if (link.standing.is_slow) pairs.push_back(link.pair);
  }
  return pairs;
}

}  // namespace

TEST_CASE("every link is measured and right, and a slow one is found") {
  const std::vector<std::string> hosts{"n1", "n1", "n2", "n2", "n3", "n3"};
  const auto is_within = [&](Pair p) {
    return hosts[static_cast<std::size_t>(p.a)] == hosts[static_cast<std::size_t>(p.b)];
  };
  const std::vector<Link> links = played(hosts, [](Pair pair, int) {
    return pair == Pair{1, 4} ? slow_s : quick_s;
  });
  REQUIRE(links.size() == 15);
  CHECK(std::is_sorted(links.begin(), links.end(), [](auto& a, auto& b) { return a.pair < b.pair; }));
  for (const Link& link : links) {
    CHECK(link.wrong == 0);
    CHECK(link.is_within_host == is_within(link.pair));
    CHECK(link.small_bytes == 8);
    CHECK(link.bytes == 4000);
    CHECK(link.latency_s > 0);
    CHECK(link.gb_s() == Approx(4000e-9 / link.seconds));
  }
  CHECK(slow_ones(links) == std::vector<Pair>{{1, 4}});
}

TEST_CASE("links between hosts are held to each other, not to those within") {
  const std::vector<std::string> hosts{"n1", "n1", "n1", "n2"};
  CHECK(slow_ones(played(hosts, [](Pair pair, int) { return pair.b == 3 ? moderate_s : quick_s; })).empty());
}

TEST_CASE("a link that was slow while others talked, and is not by itself, is not blamed") {
  const auto seconds = [](Pair pair, int call) {
    const int num_slow = pair == Pair{0, 3} ? calls : pair == Pair{1, 2} ? 2 * calls : 0;
    return call < num_slow ? slow_s : quick_s;
  };
  CHECK(slow_ones(played({"n1", "n2", "n3", "n4"}, seconds)) == std::vector<Pair>{{1, 2}});
}

TEST_CASE("latency is the small message's, bandwidth the large one's") {
  const std::vector<Link> links = played({"n1", "n2"}, [](Pair, int) { return moderate_s; });
  REQUIRE(links.size() == 1);
  CHECK(links[0].latency_s < moderate_s);
  CHECK(links[0].seconds >= moderate_s);
}

TEST_CASE("one rank has no links, and without checks nothing is said of results") {
  CHECK(played({"n1"}, [](Pair, int) { return 0; }).empty());
  const MeasureSettings unchecked{.iterations = 1, .warmup = 0, .checks = 0};
  CHECK_FALSE(played(
                  {"n1", "n1"}, [](Pair, int) { return 0; }, unchecked)
                  .at(0)
                  .wrong.has_value());
}
