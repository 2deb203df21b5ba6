#pragma once
// Sums and gathers stretches in rounds of exchanges. Rounds of several stretches go at once.
// Legend: as in levels.hpp.

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/core/reduction.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/device_collectives/levels.hpp"
#include "tensor/context.hpp"

namespace dt::comm {

using Transfers = std::vector<DeviceTransport::Transfer>;

/// The work that each stretch does once. In exchange number + lag, stretch `number` sends and
/// receives. Then it combines what came, while the next exchange is under way.
struct StreamRound {
  int lag = 0;
  std::function<void(std::int64_t number, Transfers& transfers)> exchange;
  std::function<void(std::int64_t number)> combine{};
};
/// The number of exchanges from the one that brings a stretch's values to the one that sends the
/// combined result.
inline constexpr int lag_of_combining = 2;
/// The number of stretches that have memory for what arrives: one is being combined while another
/// arrives.
inline constexpr std::int64_t num_halves = 2;

using StretchOf = std::function<ReduceStretch(std::int64_t number)>;
/// Returns the elements of a stretch that are this rank's.
using OwnOf = std::function<Tensor(std::int64_t number)>;

/// The sum of all ranks' `in`; each rank gets the sum of its range of each stretch. Ranks sum within
/// nodes first, each for the ranks of its place on all nodes, and then between these. Two
/// stretches' partial sums are held at a time.
class HierarchicalSums {
 public:
  /// Memory of num_halves · staged_bytes() for stretches of which each rank has `most` elements at
  /// most.
  struct Memory {
    Tensor staging;  // bytes
    std::int64_t most;
    const Context& context;      // runs the kernels that combine
    std::function<void()> pace;  // holds up the host as another exchange does
  };
  HierarchicalSums(const Levels& levels, Reduction reduction, const Memory& memory, const Tensor& in,
                   StretchOf stretch, OwnOf own_out);
  /// Adds the rounds of the sum, after which own_out has it. Returns the lag of what may follow. This
  /// object must outlive the rounds.
  int add_rounds(std::vector<StreamRound>& rounds) const;

 private:
  enum class Area { of_neighbours, partials, of_nodes };
  Tensor staged(std::int64_t number, Area area, DType dtype) const;
  std::vector<Tensor> of_neighbours(std::int64_t number, const std::vector<Range>& own) const;
  Tensor partial(std::int64_t number, int h) const;
  Tensor of_nodes(std::int64_t number) const;
  void exchange_within(std::int64_t number, Transfers& transfers) const;
  void combine_within(std::int64_t number) const;
  void exchange_between(std::int64_t number, Transfers& transfers) const;
  void combine_between(std::int64_t number) const;

  Levels levels_;
  Reduction reduction_;
  Memory memory_;
  Tensor in_;
  DType sum_dtype_;
  StagedBytes staged_;
  StretchOf stretch_;
  OwnOf own_out_;
};

/// Adds rounds that bring each rank's range of each stretch of `out` to all ranks: between the ranks of
/// a place, then within nodes.
void add_gather_rounds(std::vector<StreamRound>& rounds, int lag, const Levels& levels, const Tensor& out,
                       const StretchOf& stretch);

}  // namespace dt::comm
