#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "comm/algorithms/algorithms.hpp"
#include "comm/algorithms/gather_by_doubling.hpp"

namespace dt::comm {

namespace {

/// Returns the gather of values that all ranks of a run have one of.
template <class T>
GatherByDoubling gather_of(std::span<T> all, int rank, const RankRun& run) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  const std::span<T> of_run =
      all.subspan(static_cast<std::size_t>(run.first), static_cast<std::size_t>(run.count));
  return {rank, run, Tensor(of_run.data(), DType::u8, {run.count * bytes}, Device::host()), [](int of_rank) {
            return Range{of_rank * bytes, bytes};
          }};
}

/// Finds out where ranks are, in three gathers: the hosts of all ranks; the first neighbours'
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

  /// Adds the next round. Returns false once the locality is decided.
  bool add_round(Round& round) {
    const auto own = static_cast<std::size_t>(rank_);
    while (!gather_ || next_round_ == gather_->num_rounds()) {
      next_round_ = 0;
      switch (next_gather_++) {
        case 0:
          hosts_[own] = locality_->host();
          gather_ = gather_of(std::span(hosts_), rank_, {0, size_});
          break;
        case 1: {
          locality_->place(hosts_);
          offers_[own] = locality_->offer_window();
          gather_ = gather_of(std::span(offers_), rank_,
                              {locality_->first_neighbour(), locality_->num_neighbours()});
          break;
        }
        case 2: {
          const auto first = static_cast<std::size_t>(locality_->first_neighbour());
          answers_[own] = locality_->accept_window(offers_[first]) ? 1 : 0;
          gather_ = gather_of(std::span(answers_), rank_, {0, size_});
          break;
        }
        default:
          locality_->decide(std::ranges::count(answers_, 1) == std::ssize(answers_));
          return false;
      }
    }
    gather_->add_round(next_round_++, round);
    return true;
  }

 private:
  std::shared_ptr<Locality> locality_;
  int rank_;
  int size_;
  std::vector<HostName> hosts_;
  std::vector<NodeWindow::Offer> offers_;
  std::vector<std::uint8_t> answers_;
  std::optional<GatherByDoubling> gather_;  // the gather under way
  int next_gather_ = 0;
  int next_round_ = 0;
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
      : decision_(std::move(decision)), discovery_(std::move(discovery)), number_(number) {}

  bool operator()(int index, Round& round) {
    if (!sequence_) {
      if (discovery_) {
        if (discovery_->add_round(round)) return true;
      } else if (index == 0) {
        round.ready = [this] {
          decision_->locality->throw_if_cancelled();
          return decision_->chosen.has_value();
        };
        return true;
      }
      const Algorithm& chosen = *decision_->chosen;
      if (number_ >= chosen.num_sequences) return false;
      sequence_ = chosen.make_sequence(number_);
      first_ = index;
    }
    return sequence_(index - first_, round);
  }

 private:
  std::shared_ptr<Decision> decision_;
  std::unique_ptr<TopologyDiscovery> discovery_;
  std::size_t number_;
  RoundSequence sequence_;
  int first_ = 0;  // index of the sequence's first round
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
