#pragma once
// Builds the group operations as sequences of rounds of transfers.
// Legend: n ranks of the operation's group, N elements; H hosts (runs of ranks on one host, see
// Placement) with L ranks each, rank hL + l.

#include <functional>
#include <memory>

#include "comm/core/collective.hpp"
#include "comm/core/operation.hpp"
#include "comm/core/staging.hpp"
#include "comm/node/locality.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// The rank that starts an operation, and the resources that the operation uses.
struct Caller {
  int rank;
  int size;
  std::shared_ptr<StagingPool> staging;
  std::shared_ptr<Locality> locality;
  std::size_t bucket_bytes;  // see Communicator::set_bucket_bytes
};

/// A bucket has room for at least so many segments, so that some are combined while others arrive.
inline constexpr std::size_t min_segments_under_way = 4;
/// Returns how many sequences of segments of so many bytes may be under way.
std::size_t sequence_window(const Caller& caller, std::size_t segment_bytes);

/// Returns the smallest bucket with which a group's operations make progress: a few segments, each
/// with a cache line for each rank.
std::size_t least_bucket_bytes(int size);

/// The round sequences that an Operation runs.
struct Algorithm {
  std::function<RoundSequence(std::size_t number)> make_sequence;
  std::size_t num_sequences = 1;
  std::size_t window = 4;
  std::size_t sequence_bytes = 0;  // share of Operation::bucket_bytes that a sequence takes
};

// Each of the functions below returns the algorithm of a call that complete() has made.

/// Chooses by size, n and the ranks' placement.
/// Numerics: the bits are those of combine(), whichever algorithm is chosen.
Algorithm all_reduce_algorithm(const Caller& caller, const Collective& call);
/// The algorithm of a reduce-scatter or an all-gather, in which ranks have ranges in the order of ranks.
Algorithm ranges_algorithm(const Caller& caller, const Collective& call);
/// A broadcast along a binomial tree from the root. Segments follow each other down the tree.
Algorithm broadcast_algorithm(const Caller& caller, const Collective& call);
/// A reduction for the root alone. The root combines few elements itself. If there are many, each rank
/// combines its range of a segment, and sends it to the root.
/// Numerics: the bits are those of combine().
Algorithm reduce_algorithm(const Caller& caller, const Collective& call);
/// A gather or a scatter. The root exchanges one message with each rank, or several for a large part.
Algorithm root_exchange_algorithm(const Caller& caller, const Collective& call);
/// Every rank sends to every rank. On several hosts, small parts for a host travel together.
Algorithm all_to_all_algorithm(const Caller& caller, const Collective& call);
/// A dissemination barrier: in round k each rank sends a message to the rank 2^k places after it (mod n).
/// Source: Hensgen, Finkel, Manber 1988.
Algorithm barrier_algorithm(const Caller& caller, const Collective& call);
/// Returns the algorithm of a send or a receive.
Algorithm transfer_algorithm(int peer, const Tensor& data, bool is_send);

/// Returns whether an all-reduce has so few bytes that the fewest messages in a row are fastest.
bool is_small_all_reduce(const Caller& caller, const Tensor& in);

/// Returns the algorithm of a small all-reduce. If n is a power of two, ranks exchange partial results
/// pairwise (recursive doubling). Otherwise they send them up the tree of combine(), where rank a owns
/// the subtree over ranks [a, b), and the result down again.
/// Numerics: the bits are those of combine().
Algorithm small_all_reduce_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                                     Reduction reduction);

/// A call and its division into segments.
struct SegmentedCollective : Collective {
  /// Returns the ranks' ranges of a segment. The segments together hold the N elements. A
  /// reduce_scatter or all_gather divides each rank's range into pieces, one for each segment.
  std::function<RangeOf(std::size_t number)> segment{};
  std::size_t num_segments = 1;
};

/// Returns whether fewer bytes pass between hosts by hierarchical_algorithm() than without it.
bool is_hierarchical_faster(const SegmentedCollective& collective, const Placement& placement);

/// Returns the algorithm of a collective over several hosts, with as few bytes between hosts as
/// possible. A reduction goes through the hosts' windows first: rank l of each host combines, over its
/// host's ranks, the ranges of the ranks l of all hosts. These ranks then exchange their hosts' sums,
/// and combine those of their own ranges. A gather goes the same way back. Segments follow each other,
/// some in a window while others are between hosts.
/// Numerics: the hosts' sums are whole subtrees of combine(), so the bits are the same.
/// Errors, while it goes on: those of NodeWindow::may_begin.
Algorithm hierarchical_algorithm(const Caller& caller, const SegmentedCollective& collective,
                                 const Algorithm& messages);

/// Returns the algorithm of an operation that begins before its group knows where its ranks are. It
/// finds out where ranks are, or waits until another operation has. It then runs the algorithm that
/// `choose` returns. All ranks call `choose` in the order of operations. Its result has no more than
/// `max_sequences` sequences, and otherwise begins like `messages`.
Algorithm topology_discovery_algorithm(const Caller& caller, const std::function<Algorithm()>& choose,
                                       const Algorithm& messages, std::size_t max_sequences);

}  // namespace dt::comm
