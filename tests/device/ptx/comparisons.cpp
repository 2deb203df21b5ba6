// Comparisons, operations on their results, and selections by these.
#include "device/ptx/lanes.hpp"

namespace dt::ptx {

namespace {

/// Sets a predicate's bits of the active lanes.
void set_predicate(Warp& warp, std::int32_t index, std::uint32_t bits) {
  std::uint32_t& to = warp.predicate(index);
  to = (to & ~warp.active) | (bits & warp.active);
}

template <class T, auto is>
void compare(Warp& warp, const Instruction& i) {
  const std::uint64_t *const a = warp.row(i.from[0]), *const b = warp.row(i.from[1]);
  std::uint32_t bits = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    bits |= (is(value_of<T>(a[lane]), value_of<T>(b[lane])) ? 1U : 0U) << lane;
  set_predicate(warp, i.to[0], bits);
}

// With a NaN these are false.
constexpr auto equal = []<class T>(T a, T b) { return a == b; };
constexpr auto unequal = []<class T>(T a, T b) { return a < b || a > b; };
constexpr auto less = []<class T>(T a, T b) { return a < b; };
constexpr auto less_or_equal = []<class T>(T a, T b) { return a <= b; };
constexpr auto greater = []<class T>(T a, T b) { return a > b; };
constexpr auto greater_or_equal = []<class T>(T a, T b) { return a >= b; };
constexpr auto numbers = []<class T>(T a, T b) { return a == a && b == b; };
/// With a NaN this is true.
template <auto is>
constexpr auto not_so = []<class T>(T a, T b) { return !is(a, b); };

template <auto of>
void on_predicates(Warp& warp, const Instruction& i) {
  set_predicate(warp, i.to[0], of(warp.predicate(i.from[0]), warp.predicate(i.from[1])));
}
void negate(Warp& warp, const Instruction& i) {
  set_predicate(warp, i.to[0], ~warp.predicate(i.from[0]));
}
/// Moves a predicate if the mode says so, else a constant's row.
void move_predicate(Warp& warp, const Instruction& i) {
  const bool is_true = i.mode == 0 && warp.row(i.from[0])[0] != 0;
  set_predicate(warp, i.to[0], i.mode != 0 ? warp.predicate(i.from[0]) : (is_true ? all_lanes : 0));
}

template <class T>
void select(Warp& warp, const Instruction& i) {
  const std::uint64_t *const a = warp.row(i.from[0]), *const b = warp.row(i.from[1]);
  const std::uint32_t which = warp.predicate(i.from[2]);
  std::uint64_t* const to = warp.row(i.to[0]);
  for_lanes(warp, [&](unsigned lane) {
    to[lane] = bits_of(value_of<T>((which >> lane & 1U) != 0 ? a[lane] : b[lane]));
  });
}

template <auto is, class... T>
void add(Table& table, const std::string& name) {
  ((table["setp." + name + "." + type_name<T>()] = {compare<T, is>}), ...);
}

template <class... T>
void add_ordered(Table& table) {
  add<equal, T...>(table, "eq");
  add<unequal, T...>(table, "ne");
  add<less, T...>(table, "lt");
  add<less_or_equal, T...>(table, "le");
  add<greater, T...>(table, "gt");
  add<greater_or_equal, T...>(table, "ge");
  ((table[std::string("selp.") + type_name<T>()] = {select<T>}), ...);
}
template <class... T>
void add_unordered(Table& table) {
  add<not_so<unequal>, T...>(table, "equ");
  add<not_so<equal>, T...>(table, "neu");
  add<not_so<greater_or_equal>, T...>(table, "ltu");
  add<not_so<greater>, T...>(table, "leu");
  add<not_so<less_or_equal>, T...>(table, "gtu");
  add<not_so<less>, T...>(table, "geu");
  add<numbers, T...>(table, "num");
  add<not_so<numbers>, T...>(table, "nan");
}
template <class... T>
void add_untyped(Table& table) {
  ((table["setp.eq." + untyped_name<T>()] = {compare<T, equal>}), ...);
  ((table["setp.ne." + untyped_name<T>()] = {compare<T, unequal>}), ...);
  ((table["selp." + untyped_name<T>()] = {select<T>}), ...);
}

Table make_table() {
  Table table;
  add_ordered<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, float,
              double>(table);
  add_unordered<float, double>(table);
  add_untyped<std::uint16_t, std::uint32_t, std::uint64_t>(table);
  using Bits = std::uint32_t;
  table["and.pred"] = {on_predicates<[](Bits a, Bits b) { return a & b; }>};
  table["or.pred"] = {on_predicates<[](Bits a, Bits b) { return a | b; }>};
  table["xor.pred"] = {on_predicates<[](Bits a, Bits b) { return a ^ b; }>};
  table["not.pred"] = {negate};
  table["mov.pred"] = {move_predicate};
  return table;
}

}  // namespace

std::optional<Operation> find_comparison(std::string_view opcode) {
  static const Table table = make_table();
  return find_in(table, opcode);
}

}  // namespace dt::ptx
