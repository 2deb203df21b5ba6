// An exchange in which each rank gives each rank a part of its own.
// Legend: n ranks; H hosts (runs of ranks on one host, see Placement) with L ranks each, rank hL + l.

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/algorithms/algorithms.hpp"
#include "comm/algorithms/window_exchange.hpp"

namespace dt::comm {

namespace {

// Smaller parts for other hosts travel together. Larger ones would gain nothing, and take longer to
// be copied on the way.
constexpr std::size_t most_relayed_bytes = std::size_t{4} << 10;

/// Every rank sends to every rank, each part whole: it comes from its owner's memory and arrives in the
/// caller's, so that what is under way takes no memory and no part needs to be cut.
class Pairwise {
 public:
  Pairwise(const Caller& caller, const Collective& call)
      : rank_(caller.rank),
        size_(caller.size),
        in_(call.in.raw()),
        out_(call.out.raw()),
        element_bytes_(dtype_bytes(call.dtype)),
        ranges_(call.ranges),
        part_(call.part),
        arriving_(call.arriving) {}

  /// Adds the transfers of those parts for which `is_direct`; the others go another way. Takes peers in the
  /// order of their distance, so that ranks do not all begin with the same one.
  template <class IsDirect>
  void exchange(Round& round, const IsDirect& is_direct) const {
    round.transfers.reserve(2 * static_cast<std::size_t>(size_ - 1));
    const auto add = [&](int peer, const Range& part, std::byte* side, bool is_send) {
      if (is_direct(peer, part)) round.transfers.push_back({peer, bytes_of(part, side), is_send});
    };
    for (int distance = 1; distance < size_; ++distance) {
      const int from = (rank_ - distance + size_) % size_;
      add(from, arriving_(from), out_, false);
    }
    for (int distance = 1; distance < size_; ++distance) {
      const int to = (rank_ + distance) % size_;
      add(to, part_(to), in_, true);
    }
    if (is_direct(rank_, part_(rank_))) {
      round.meanwhile = [this] {
        const std::span<std::byte> own = bytes_of(part_(rank_), in_);
        std::memcpy(bytes_of(arriving_(rank_), out_).data(), own.data(), own.size());
      };
    }
  }

 private:
  std::span<std::byte> bytes_of(const Range& range, std::byte* side) const {
    return {side + static_cast<std::size_t>(range.begin) * element_bytes_,
            static_cast<std::size_t>(range.count) * element_bytes_};
  }

  int rank_, size_;
  std::byte *in_, *out_;
  std::size_t element_bytes_;
  std::shared_ptr<const std::vector<Range>> ranges_;  // owns the ranges that part_ and arriving_ return
  RangeOf part_, arriving_;
};

/// Returns a sequence of the one round that exchanges the parts for which `is_direct`.
template <class IsDirect>
RoundSequence exchange_directly(std::shared_ptr<const Pairwise> pairwise, const IsDirect& is_direct) {
  return [pairwise = std::move(pairwise), is_direct](int index, Round& round) {
    if (index == 0) pairwise->exchange(round, is_direct);
    return index == 0;
  };
}

Algorithm pairwise_algorithm(const Caller& caller, const Collective& call) {
  const auto pairwise = std::make_shared<const Pairwise>(caller, call);
  return {[=](std::size_t) {
    return exchange_directly(pairwise, [](int, const Range& part) { return part.count > 0; });
  }};
}

/// Brings the small parts between hosts. Rank (h, l) gives (h, m) its parts for the ranks (·, m) of all
/// other hosts. These then go to each host in one message, with those of all ranks of host h. So a rank
/// sends H − 1 messages to other hosts instead of (H − 1)L. A rank knows what it gives and gets. Its
/// neighbours first tell it the sizes of what passes through it.
class Relay {
 public:
  Relay(const Caller& caller, const Collective& call)
      : call_(call),
        num_hosts_(caller.locality->placement().num_hosts),
        per_host_(caller.locality->placement().per_host),
        host_(caller.rank / per_host_),
        local_(caller.rank % per_host_),
        staging_(caller.staging),
        counts_(static_cast<std::size_t>(per_host_ * num_hosts_)),
        own_counts_(counts_.size()),
        given_(static_cast<std::size_t>(per_host_)),
        passing_(given_.size()),
        leaving_(static_cast<std::size_t>(num_hosts_)),
        arriving_(leaving_.size()) {}
  Relay(const Relay&) = delete;

  bool takes(int peer, const Range& part) const {
    return peer / per_host_ != host_ &&
           static_cast<std::size_t>(part.count) * dtype_bytes(call_.dtype) <= most_relayed_bytes;
  }

  bool operator()(int index, Round& round) {
    switch (index) {
      case 0:
        tell_counts(round);
        return true;
      case 1:
        exchange_within(round);
        return true;
      case 2:
        exchange_between(round);
        return true;
      default:
        blocks_.clear();
        return false;
    }
  }

 private:
  int rank_of(int h, int l) const { return h * per_host_ + l; }
  std::int64_t relayed(int peer, const Range& part) const { return takes(peer, part) ? part.count : 0; }
  /// Returns the elements that neighbour l gives this rank for (h, local).
  std::int64_t& count(std::vector<std::int64_t>& counts, int l, int h) const {
    return counts[static_cast<std::size_t>(l * num_hosts_ + h)];
  }
  template <class Visit>
  static void for_others(int own, int size, const Visit& visit) {
    for (int distance = 1; distance < size; ++distance) visit((own - distance + size) % size, false);
    for (int distance = 1; distance < size; ++distance) visit((own + distance) % size, true);
  }
  Tensor take(std::vector<StagingPool::Block>& blocks, std::int64_t numel) {
    const std::size_t bytes = static_cast<std::size_t>(numel) * dtype_bytes(call_.dtype);
    return Tensor(*blocks.emplace_back(staging_->acquire(std::max<std::size_t>(1, bytes))), call_.dtype,
                  {numel});
  }
  static void append(const Tensor& packed, std::int64_t& end, const Tensor& part) {
    if (part.numel() > 0) std::memcpy(packed.flat(end, part.numel()).raw(), part.raw(), part.bytes());
    end += part.numel();
  }

  void tell_counts(Round& round) {
    for (int l = 0; l < per_host_; ++l) {
      for (int h = 0; h < num_hosts_; ++h) {
        const int peer = rank_of(h, l);
        count(own_counts_, l, h) = relayed(peer, call_.part(peer));
      }
    }
    const auto row = [this](std::vector<std::int64_t>& counts, int l) {
      return std::as_writable_bytes(std::span(&count(counts, l, 0), static_cast<std::size_t>(num_hosts_)));
    };
    for_others(local_, per_host_, [&](int l, bool is_send) {
      round.transfers.push_back({rank_of(host_, l), row(is_send ? own_counts_ : counts_, l), is_send});
    });
    std::ranges::copy(row(own_counts_, local_), row(counts_, local_).begin());
  }

  /// Packs what neighbours pass on, and makes room for what this rank will.
  void exchange_within(Round& round) {
    for_others(local_, per_host_, [&](int l, bool is_send) {
      std::int64_t numel = 0, end = 0;
      for (int h = 0; h < num_hosts_; ++h) numel += count(is_send ? own_counts_ : counts_, l, h);
      Tensor& packed = (is_send ? given_ : passing_)[static_cast<std::size_t>(l)];
      packed = take(blocks_, numel);
      for (int h = 0; is_send && h < num_hosts_; ++h) append(packed, end, own_part(h, l));
      add_transfer(round, rank_of(host_, l), packed, is_send);
    });
  }

  /// Returns what this rank gives to (h, l) through a neighbour. Returns no elements if it sends them
  /// directly.
  Tensor own_part(int h, int l) {
    const std::int64_t numel = count(own_counts_, l, h);
    return call_.in.flat(call_.part(rank_of(h, l)).begin, numel);
  }
  /// Returns what neighbour l gives this rank for (h, local).
  Tensor passing_part(int l, int h) {
    if (l == local_) return own_part(h, local_);
    std::int64_t begin = 0;
    for (int before = 0; before < h; ++before) begin += count(counts_, l, before);
    return passing_[static_cast<std::size_t>(l)].flat(begin, count(counts_, l, h));
  }

  void exchange_between(Round& round) {
    for_others(host_, num_hosts_, [&](int h, bool is_send) {
      std::int64_t numel = 0, end = 0;
      for (int l = 0; l < per_host_; ++l)
        numel += is_send ? count(counts_, l, h) : relayed(rank_of(h, l), call_.arriving(rank_of(h, l)));
      Tensor& packed = (is_send ? leaving_ : arriving_)[static_cast<std::size_t>(h)];
      packed = take(blocks_, numel);
      for (int l = 0; is_send && l < per_host_; ++l) append(packed, end, passing_part(l, h));
      add_transfer(round, rank_of(h, local_), packed, is_send);
    });
    round.then = [this] {
      for (int h = 0; h < num_hosts_; ++h) {
        if (h != host_) unpack(h);
      }
    };
  }

  void unpack(int h) const {
    std::int64_t begin = 0;
    for (int l = 0; l < per_host_; ++l) {
      const Range part = call_.arriving(rank_of(h, l));
      const std::int64_t numel = relayed(rank_of(h, l), part);
      if (numel > 0) {
        const Tensor from = arriving_[static_cast<std::size_t>(h)].flat(begin, numel);
        std::memcpy(flat_view(call_.out, part).raw(), from.raw(), from.bytes());
      }
      begin += numel;
    }
  }

  Collective call_;
  int num_hosts_, per_host_, host_, local_;
  std::shared_ptr<StagingPool> staging_;
  std::vector<std::int64_t> counts_, own_counts_;  // neighbours' parts for (h, local); own parts for (h, l)
  std::vector<StagingPool::Block> blocks_;
  std::vector<Tensor> given_, passing_;     // by neighbour
  std::vector<Tensor> leaving_, arriving_;  // by host
};

/// The first sequence is that of `Small`. The second exchanges the parts that the first does not take.
template <class Small>
Algorithm divided_algorithm(const Caller& caller, const Collective& call) {
  const auto small = std::make_shared<Small>(caller, call);
  const auto is_direct = [&of = *small](int peer, const Range& part) {
    return part.count > 0 && !of.takes(peer, part);
  };
  bool is_divided = false;
  for (int rank = 0; rank < caller.size; ++rank) {
    is_divided = is_divided || is_direct(rank, call.part(rank)) || is_direct(rank, call.arriving(rank));
  }
  // The operation keeps make_sequence, which owns `small`, as long as its sequences.
  const auto first = [&of = *small](int index, Round& round) { return of(index, round); };
  if (!is_divided) return {[small, first](std::size_t) -> RoundSequence { return first; }};
  const auto pairwise = std::make_shared<const Pairwise>(caller, call);
  return {.make_sequence = [=, small = small](std::size_t number) -> RoundSequence {
            if (number == 0) return first;
            return exchange_directly(pairwise, is_direct);
          },
          .num_sequences = 2};
}

}  // namespace

Algorithm all_to_all_algorithm(const Caller& caller, const Collective& call) {
  if (call.shares_tag || caller.size == 1) return pairwise_algorithm(caller, call);
  switch (caller.locality->state()) {
    case Locality::State::undecided: {
      return topology_discovery_algorithm(
          caller, [=] { return all_to_all_algorithm(caller, call); }, pairwise_algorithm(caller, call), 2);
    }
    case Locality::State::open:
      return caller.locality->placement().num_hosts == 1 ? divided_algorithm<WindowExchange>(caller, call)
                                                         : divided_algorithm<Relay>(caller, call);
    case Locality::State::absent:
      break;
  }
  return pairwise_algorithm(caller, call);
}

}  // namespace dt::comm
