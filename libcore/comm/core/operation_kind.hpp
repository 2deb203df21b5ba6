#pragma once
// The kinds of operations: their names, and what each rank gives and gets. Communicator, recorder,
// backends and bench read the same table.
// Legend: n ranks, N elements.

#include <array>
#include <cstddef>
#include <string_view>

#include "base/error.hpp"
#include "base/text/enum_names.hpp"

namespace dt::comm {

/// A send_receive is recorded as a receive and a send.
enum class OperationKind {
  send,
  receive,
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  reduce,
  gather,
  scatter,
  send_receive,
  barrier
};
/// The names in flight files, traces and messages, and of dt-allreduce-bench's operations.
constexpr auto enum_names(OperationKind) {
  using enum OperationKind;
  return std::to_array<EnumName<OperationKind>>({{"send", send},
                                                 {"receive", receive},
                                                 {"all_reduce", all_reduce},
                                                 {"broadcast", broadcast},
                                                 {"all_gather", all_gather},
                                                 {"reduce_scatter", reduce_scatter},
                                                 {"all_to_all", all_to_all},
                                                 {"reduce", reduce},
                                                 {"gather", gather},
                                                 {"scatter", scatter},
                                                 {"send_receive", send_receive},
                                                 {"barrier", barrier}});
}
inline constexpr std::size_t num_operation_kinds = enum_names(OperationKind{}).size();

/// The elements that a rank gives or gets.
enum class Extent {
  nothing,
  part,   // its range of the N elements
  parts,  // a range for each rank, of sizes that may differ
  whole,  // all N elements
};

struct OperationTraits {
  OperationKind kind;
  Extent in = Extent::nothing, out = Extent::nothing;
  bool reduces = false;
  bool from_root = false;  // the root alone gives
  bool to_root = false;    // the root alone gets
  bool has_in_place = true;
  /// Returns the ratio of bus bandwidth to N's bytes per time. Bus bandwidth is the rate that a rank's
  /// link carries, independent of n.
  /// Source: nccl-tests, PERFORMANCE.md.
  double (*bus_factor)(int num_ranks) = [](int) { return 1.0; };
  std::string_view alias{};  // another name that dt-allreduce-bench takes

  bool has_data() const { return in != Extent::nothing; }
  bool has_root() const { return from_root || to_root; }
  /// Returns whether the N elements are divided among the ranks, so that N counts n equal parts.
  bool in_parts() const { return in != out || in == Extent::parts; }
  bool gives(bool is_root) const { return has_data() && (is_root || !from_root); }
  /// Returns whether a rank gets anything. A root that gives the whole has it already.
  bool gets(bool is_root) const {
    return has_data() && (is_root ? !(from_root && out == Extent::whole) : !to_root);
  }
};

/// The traits of all kinds, in the order of the enum.
inline constexpr std::array<OperationTraits, num_operation_kinds> operation_traits = [] {
  using enum OperationKind;
  using enum Extent;
  constexpr auto of_others = [](int n) { return static_cast<double>(n - 1) / n; };
  return std::to_array<OperationTraits>({
      {.kind = send, .in = whole, .out = whole},
      {.kind = receive, .in = whole, .out = whole},
      {.kind = all_reduce,
       .in = whole,
       .out = whole,
       .reduces = true,
       .bus_factor = [](int n) { return 2 * (static_cast<double>(n - 1) / n); }},
      {.kind = broadcast, .in = whole, .out = whole, .from_root = true},
      {.kind = all_gather, .in = part, .out = whole, .bus_factor = of_others},
      {.kind = reduce_scatter, .in = whole, .out = part, .reduces = true, .bus_factor = of_others},
      {.kind = all_to_all,
       .in = parts,
       .out = parts,
       .has_in_place = false,
       .bus_factor = of_others,
       .alias = "alltoall"},
      {.kind = reduce, .in = whole, .out = whole, .reduces = true, .to_root = true},
      {.kind = gather, .in = part, .out = whole, .to_root = true, .bus_factor = of_others},
      {.kind = scatter, .in = whole, .out = part, .from_root = true, .bus_factor = of_others},
      {.kind = send_receive, .in = whole, .out = whole, .has_in_place = false},
      {.kind = barrier, .has_in_place = false},
  });
}();
static_assert([] {
  for (std::size_t i = 0; i < operation_traits.size(); ++i) {
    if (operation_traits[i].kind != static_cast<OperationKind>(i)) return false;
  }
  return true;
}());

constexpr const OperationTraits& traits(OperationKind kind) {
  return operation_traits.at(static_cast<std::size_t>(kind));
}

/// Returns whether an operation is between two ranks, so that the rest of the group takes no part.
constexpr bool is_point_to_point(OperationKind kind) {
  return kind == OperationKind::send || kind == OperationKind::receive;
}

}  // namespace dt::comm
