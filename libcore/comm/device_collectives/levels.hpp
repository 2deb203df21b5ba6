#pragma once
// Describes how a group's ranks lie on nodes, for operations that go within nodes and between them.
// Legend: H nodes with L ranks each, rank hL + l. A node is a run of ranks on one host (see Placement).

#include <optional>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/core/collective.hpp"
#include "comm/node/locality.hpp"

namespace dt::comm {

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

}  // namespace dt::comm
