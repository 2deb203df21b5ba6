#pragma once
// The group operations as chains of transfers. Legend: n ranks, N elements. All in terms of one group's
// ranks.

#include <functional>
#include <memory>

#include "comm/communicator.hpp"
#include "comm/engine.hpp"
#include "comm/locality.hpp"
#include "comm/parts.hpp"
#include "comm/reduction.hpp"
#include "comm/staging.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Who asks, and where memory comes from.
struct Caller {
  int rank;
  int size;
  std::shared_ptr<StagingPool> staging;
  std::shared_ptr<Locality> locality;
  std::size_t bucket_bytes;  // see Communicator::set_bucket_bytes
};

/// What a group may have under way at the least, so that its operations can go on: segments of a cache line
/// for each rank, some at a time.
std::size_t least_bucket_bytes(int size);

/// What an Operation runs.
struct Algorithm {
  std::function<Chain(std::size_t number)> make_chain;
  std::size_t num_chains = 1;
  std::size_t window = 4;
  std::size_t chain_bytes = 0;  // of Operation::bucket_bytes
};

/// Chooses by size, n and where the ranks are; whatever it chooses, the bits are those of combine().
Algorithm all_reduce_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                               Reduction reduction);
/// `parts`: which of the N elements are each rank's, in the order of ranks.
Algorithm reduce_scatter_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                                   Reduction reduction, const PartOf& parts);
Algorithm all_gather_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                               const PartOf& parts);
/// A binomial tree from the root, in segments that follow each other down.
Algorithm broadcast_algorithm(const Caller& caller, const Tensor& data, int root);
/// Dissemination: in round k everyone tells the rank 2^k further. Source: Hensgen, Finkel, Manber 1988.
Algorithm barrier_algorithm(const Caller& caller);
Algorithm transfer_algorithm(int peer, const Tensor& data, bool is_send);

}  // namespace dt::comm
