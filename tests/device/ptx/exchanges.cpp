// Exchanges between the lanes of a warp: all lanes that a mask names must be there.
#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "device/ptx/lanes.hpp"

namespace dt::ptx {

namespace {

/// Checks that all lanes that execute the instruction name the same lanes, and that these are there or have
/// ended. Returns the lanes that are there.
std::uint32_t check_members(Warp& warp, const Instruction& i, std::int32_t mask_row) {
  const std::uint64_t* const masks = warp.row(mask_row);
  const auto first = static_cast<unsigned>(std::countr_zero(warp.active));
  const auto mask = static_cast<std::uint32_t>(masks[first]);
  for_lanes(warp, [&](unsigned lane) {
    const auto own = static_cast<std::uint32_t>(masks[lane]);
    if ((own >> lane & 1U) == 0)
      warp.fail(i, lane, fmt::format("mask {:08x} does not name the lane itself", own));
    if (own != mask) warp.fail(i, lane, fmt::format("mask {:08x} beside another lane's {:08x}", own, mask));
  });
  if (const std::uint32_t elsewhere = mask & warp.live & ~warp.active)
    warp.fail(i, first, fmt::format("mask {:08x} names lanes {:08x}, which are elsewhere", mask, elsewhere));
  return warp.active & mask;
}

enum class Shuffle { up, down, butterfly, index };

/// Executes shfl.sync. The value of a lane that has ended is undefined, so reading it is an error.
/// Source: PTX ISA 9.0, shfl.sync.
template <Shuffle kind>
void shuffle(Warp& warp, const Instruction& i) {
  check_members(warp, i, i.from[3]);
  const std::uint64_t *const a = warp.row(i.from[0]), *const b = warp.row(i.from[1]),
                             *const c = warp.row(i.from[2]);
  std::array<std::uint64_t, warp_size> taken{};
  std::uint32_t in_range = 0;
  for_lanes(warp, [&](unsigned lane) {
    const auto by = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31),
               segment = static_cast<int>(c[lane] >> 8 & 31), own = static_cast<int>(lane);
    const int highest = (own & segment) | (clamp & ~segment), lowest = own & segment;
    int from = own;
    bool is_in = true;
    switch (kind) {
      case Shuffle::up:
        from = own - by, is_in = from >= highest;
        break;
      case Shuffle::down:
        from = own + by, is_in = from <= highest;
        break;
      case Shuffle::butterfly:
        from = own ^ by, is_in = from <= highest;
        break;
      case Shuffle::index:
        from = lowest | (by & ~segment), is_in = from <= highest;
        break;
    }
    if (!is_in) from = own;
    if ((warp.active >> from & 1) == 0)
      warp.fail(i, lane, fmt::format("it takes a value of lane {}, which is not there", from));
    taken[lane] = a[from] & 0xFFFFFFFF;
    in_range |= std::uint32_t{is_in} << lane;
  });
  for_lanes(warp, [&](unsigned lane) { warp.row(i.to[0])[lane] = taken[lane]; });
  if (i.num_to < 2) return;
  std::uint32_t& predicate = warp.predicate(i.to[1]);
  predicate = (predicate & ~warp.active) | in_range;
}

/// Gives each lane of(the members' predicates, the members).
template <auto of, bool to_predicate>
void vote(Warp& warp, const Instruction& i) {
  const std::uint32_t members = check_members(warp, i, i.from[1]);
  const std::uint32_t result = of(warp.predicate(i.from[0]) & members, members);
  if (!to_predicate) {
    for_lanes(warp, [&](unsigned lane) { warp.row(i.to[0])[lane] = result; });
    return;
  }
  std::uint32_t& to = warp.predicate(i.to[0]);
  to = (to & ~warp.active) | (result != 0 ? warp.active : 0);
}

template <class T, auto of>
void reduce(Warp& warp, const Instruction& i) {
  const std::uint32_t members = check_members(warp, i, i.from[1]);
  const std::uint64_t* const values = warp.row(i.from[0]);
  T result{};
  for (std::uint32_t left = members; left != 0; left &= left - 1) {
    const T value = value_of<T>(values[std::countr_zero(left)]);
    result = left == members ? value : of(result, value);
  }
  for_lanes(warp, [&](unsigned lane) { warp.row(i.to[0])[lane] = bits_of(result); });
}

void synchronise(Warp& warp, const Instruction& i) {
  check_members(warp, i, i.from[0]);
  ++warp.epoch;
}

void active_mask(Warp& warp, const Instruction& i) {
  for_lanes(warp, [&](unsigned lane) { warp.row(i.to[0])[lane] = warp.active; });
}

void trap(Warp& warp, const Instruction& i) {
  warp.fail(i, static_cast<unsigned>(std::countr_zero(warp.active)), "the kernel gives up");
}

template <class T>
void add_reductions(Table& table) {
  const std::string type = type_name<T>();
  table["redux.sync.add." + type] = {reduce<T, [](T a, T b) {
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }>};
  table["redux.sync.min." + type] = {reduce<T, [](T a, T b) { return std::min(a, b); }>};
  table["redux.sync.max." + type] = {reduce<T, [](T a, T b) { return std::max(a, b); }>};
}

Table make_table() {
  Table table;
  table["shfl.sync.up.b32"] = {shuffle<Shuffle::up>};
  table["shfl.sync.down.b32"] = {shuffle<Shuffle::down>};
  table["shfl.sync.bfly.b32"] = {shuffle<Shuffle::butterfly>};
  table["shfl.sync.idx.b32"] = {shuffle<Shuffle::index>};
  using Bits = std::uint32_t;
  table["vote.sync.all.pred"] = {
      vote<[](Bits say, Bits members) -> Bits { return say == members ? 1 : 0; }, true>};
  table["vote.sync.any.pred"] = {vote<[](Bits say, Bits) -> Bits { return say; }, true>};
  table["vote.sync.uni.pred"] = {
      vote<[](Bits say, Bits members) -> Bits { return say == 0 || say == members ? 1 : 0; }, true>};
  table["vote.sync.ballot.b32"] = {vote<[](Bits say, Bits) -> Bits { return say; }, false>};
  add_reductions<std::uint32_t>(table);
  add_reductions<std::int32_t>(table);
  table["redux.sync.and.b32"] = {reduce<Bits, [](Bits a, Bits b) { return a & b; }>};
  table["redux.sync.or.b32"] = {reduce<Bits, [](Bits a, Bits b) { return a | b; }>};
  table["redux.sync.xor.b32"] = {reduce<Bits, [](Bits a, Bits b) { return a ^ b; }>};
  table["bar.warp.sync"] = {synchronise};
  table["trap"] = {trap};
  table["activemask.b32"] = {active_mask};
  return table;
}

}  // namespace

std::optional<Operation> find_exchange(std::string_view opcode) {
  static const Table table = make_table();
  return find_in(table, opcode);
}

}  // namespace dt::ptx
