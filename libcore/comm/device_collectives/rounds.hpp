#pragma once
// Sums and gathers stretches in rounds of exchanges. Rounds of several stretches go at once.
// Legend: H nodes with L ranks each, rank hL + l. A node is a run of ranks on one host (see Placement).

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/core/collective.hpp"
#include "comm/core/reduction.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/node/locality.hpp"
#include "tensor/context.hpp"

namespace dt::comm {

/// Describes how a group's ranks lie on nodes, for operations that go within nodes and between them.
struct Levels {
  int num_nodes = 1;
  int per_node = 1;
  int node = 0, local = 0;  // this rank's h and l

  /// Returns one level: all ranks as if one node had them.
  static Levels flat(int rank, int size) { return {1, size, 0, rank}; }
  /// Returns the levels of a placement, or one level if there is none.
  static Levels of(int rank, int size, const std::optional<Placement>& placement) {
    if (!placement) return flat(rank, size);
    const int per_node = placement->per_host;
    return {placement->num_hosts, per_node, rank / per_node, rank % per_node};
  }
  bool has_nodes() const { return num_nodes > 1; }
  int rank_of(int h, int l) const { return h * per_node + l; }
  int rank() const { return rank_of(node, local); }
  Placement placement() const { return {num_nodes, per_node}; }
  /// Returns the levels of sums of values of this type in a group that has these levels: one if two
  /// would send more bytes between nodes.
  Levels of_sums(DType dtype) const {
    return has_nodes() && is_hierarchical_sum_faster(dtype, placement()) ? *this
                                                                         : flat(rank(), num_nodes * per_node);
  }

  /// Calls visit(to, from) for the other places of this rank's node, or for the other nodes. The next
  /// place or node comes first, so that ranks do not all begin with the same one.
  template <class Visit>
  void for_neighbours(const Visit& visit) const {
    for_others(per_node, local, visit);
  }
  template <class Visit>
  void for_nodes(const Visit& visit) const {
    for_others(num_nodes, node, visit);
  }

 private:
  template <class Visit>
  static void for_others(int count, int own, const Visit& visit) {
    for (int distance = 1; distance < count; ++distance)
      visit((own + distance) % count, (own - distance + count) % count);
  }
};

/// Elements that are under way together: each rank's range of them, or, of few, all of them for every rank.
struct ReduceStretch {
  RangeOf parts;
  bool is_whole = false;

  std::int64_t count(const Levels& levels, int h, int l) const { return parts(levels.rank_of(h, l)).count; }
  /// Returns the elements of the ranks `l` of all nodes, in order, in as few runs as they make up.
  std::vector<Range> runs(const Levels& levels, int l) const;
  /// Returns where among these the elements of node h begin.
  std::int64_t begin_in_runs(const Levels& levels, int h) const;
};

/// The memory that sums take for a stretch of which each rank has `count` elements at most, in whole
/// cache lines. It holds what neighbours send, this node's sums, and those of other nodes.
struct StagedBytes {
  std::size_t of_neighbours = 0, partials = 0, of_nodes = 0;
  std::size_t total() const { return of_neighbours + partials + of_nodes; }
};
StagedBytes staged_bytes(const Levels& levels, DType dtype, std::int64_t count);

/// Returns the bytes of `count` elements, in whole cache lines.
inline std::size_t bytes_of_lines(DType dtype, std::int64_t count) {
  return round_up(static_cast<std::size_t>(count) * dtype_bytes(dtype), line_bytes);
}

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
