#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "comm/algorithms/algorithms.hpp"

namespace dt::comm {

namespace {

/// Finds out where ranks are, in three exchanges: the hosts of all ranks; the first neighbours'
/// windows; and whether all ranks have theirs.
class TopologyDiscovery {
 public:
  explicit TopologyDiscovery(const Caller& caller)
      : locality_(caller.locality),
        rank_(caller.rank),
        size_(caller.size),
        hosts_(static_cast<std::size_t>(caller.size)),
        offers_(hosts_.size()),
        answers_(hosts_.size()) {}
  ~TopologyDiscovery() {
    if (locality_->state() == Locality::State::undecided) locality_->cancel();
  }
  TopologyDiscovery(const TopologyDiscovery&) = delete;

  static constexpr int num_rounds = 3;

  void add_round(int index, Round& round) {
    const auto own = static_cast<std::size_t>(rank_);
    if (index == 0) {
      hosts_[own] = locality_->host();
      exchange(std::span(hosts_), {0, size_}, round);
      round.then = [this] { locality_->place(hosts_); };
    } else if (index == 1) {
      offers_[own] = locality_->offer_window();
      const auto first = static_cast<std::size_t>(locality_->first_neighbour());
      exchange(std::span(offers_), {locality_->first_neighbour(), locality_->num_neighbours()}, round);
      round.then = [this, own, first] { answers_[own] = locality_->accept_window(offers_[first]) ? 1 : 0; };
    } else {
      exchange(std::span(answers_), {0, size_}, round);
      round.then = [this] { locality_->decide(std::ranges::count(answers_, 1) == std::ssize(answers_)); };
    }
  }

 private:
  /// The ranks that exchange, each with each: `count` ranks from `first` on.
  struct Among {
    int first;
    int count;
  };
  template <class T>
  void exchange(std::span<T> all, const Among& among, Round& round) const {
    const auto of_rank = [&](int rank) {
      return std::as_writable_bytes(all.subspan(static_cast<std::size_t>(rank), 1));
    };
    const int own = rank_ - among.first;
    for (int distance = 1; distance < among.count; ++distance) {
      const int from = among.first + (own - distance + among.count) % among.count;
      const int to = among.first + (own + distance) % among.count;
      round.transfers.push_back({from, of_rank(from), false});
      round.transfers.push_back({to, of_rank(rank_), true});
    }
  }

  std::shared_ptr<Locality> locality_;
  int rank_;
  int size_;
  std::vector<HostName> hosts_;
  std::vector<NodeWindow::Offer> offers_;
  std::vector<std::uint8_t> answers_;
};

/// The state that the sequences of an operation share.
struct Decision {
  std::shared_ptr<Locality> locality;
  std::shared_ptr<std::function<void()>> choose;  // sets `chosen`
  std::optional<Algorithm> chosen;
};

/// A sequence that first waits until its operation's algorithm is chosen.
class Undecided {
 public:
  Undecided(std::shared_ptr<Decision> decision, std::unique_ptr<TopologyDiscovery> discovery,
            std::size_t number)
      : decision_(std::move(decision)),
        discovery_(std::move(discovery)),
        number_(number),
        num_first_(discovery_ ? TopologyDiscovery::num_rounds : 1) {}

  bool operator()(int index, Round& round) {
    if (index < num_first_) {
      if (discovery_) {
        discovery_->add_round(index, round);
      } else {
        round.ready = [this] {
          decision_->locality->throw_if_cancelled();
          return decision_->chosen.has_value();
        };
      }
      return true;
    }
    const Algorithm& chosen = *decision_->chosen;
    if (number_ >= chosen.num_sequences) return false;
    if (!sequence_) sequence_ = chosen.make_sequence(number_);
    return sequence_(index - num_first_, round);
  }

 private:
  std::shared_ptr<Decision> decision_;
  std::unique_ptr<TopologyDiscovery> discovery_;
  std::size_t number_;
  int num_first_;
  RoundSequence sequence_;
};

}  // namespace

Algorithm topology_discovery_algorithm(const Caller& caller, const std::function<Algorithm()>& choose,
                                       const Algorithm& messages, std::size_t max_sequences) {
  const auto decision = std::make_shared<Decision>(Decision{caller.locality, {}, {}});
  decision->choose = std::make_shared<std::function<void()>>(
      [choose, weak = std::weak_ptr(decision)] { weak.lock()->chosen = choose(); });
  caller.locality->when_decided(decision->choose);
  Algorithm algorithm = messages;
  algorithm.num_sequences = max_sequences;
  algorithm.make_sequence =
      [caller, decision, opens = caller.locality->claim_discovery()](std::size_t number) -> RoundSequence {
    auto discovery = opens && number == 0 ? std::make_unique<TopologyDiscovery>(caller) : nullptr;
    return [sequence = std::make_shared<Undecided>(decision, std::move(discovery), number)](
               int index, Round& round) { return (*sequence)(index, round); };
  };
  return algorithm;
}

}  // namespace dt::comm
