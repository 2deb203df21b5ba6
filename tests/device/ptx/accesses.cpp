// Loads, stores and atomics. Each access is checked: it lies in an allocation, is aligned, and has no race.
// A read of shared memory must follow a write by the block.
#include <algorithm>

#include "base/error.hpp"
#include "device/ptx/lanes.hpp"

namespace dt::ptx {

namespace {

enum class Space : std::uint8_t { generic, global, shared, local, param };

/// An access of one lane, and what it is checked for.
struct Place {
  std::byte* memory;
  std::uint64_t address;  // generic
  bool is_shared;
  bool is_checked;  // for races: other threads may access it
};

Place in_block(std::span<std::byte> memory, std::uint64_t window, std::uint64_t offset, std::size_t bytes,
               Warp& warp, const Instruction& i, unsigned lane, const char* name) {
  if (offset > memory.size() || memory.size() - offset < bytes)
    warp.fail(
        i, lane,
        fmt::format("{} bytes at {} of {} memory, which has {} bytes", bytes, offset, name, memory.size()));
  const bool is_shared = window == shared_window;
  return {memory.data() + offset, window + offset, is_shared, is_shared};
}

Place in_global(std::uint64_t address, std::size_t bytes, Warp& warp, const Instruction& i, unsigned lane) {
  Launch& launch = warp.block.launch;
  std::span<std::byte>& near = launch.near[static_cast<std::size_t>(&i - launch.kernel.code.data())];
  auto* const memory = reinterpret_cast<std::byte*>(address);
  const auto has = [&](std::span<std::byte> of) {
    return memory >= of.data() && memory + bytes <= of.data() + of.size();
  };
  if (!has(near)) near = launch.find_memory(memory);
  if (near.empty() || !has(near)) {
    const std::string of = near.empty() ? "no allocation"
                                        : fmt::format("one of {} bytes at {:#x}", near.size(),
                                                      reinterpret_cast<std::uint64_t>(near.data()));
    near = {};
    warp.fail(i, lane,
              fmt::format("{} bytes of global memory at {:#x} do not lie in an allocation: there is {}",
                          bytes, address, of));
  }
  return {memory, address, false, true};
}

Place place_of(Space space, std::uint64_t address, std::size_t bytes, Warp& warp, const Instruction& i,
               unsigned lane) {
  constexpr std::uint64_t window_offset = window_bytes - 1;
  if ((address & (bytes - 1)) != 0)
    warp.fail(i, lane, fmt::format("address {:#x} is not aligned to {} bytes", address, bytes));
  if (space == Space::generic) {
    const std::uint64_t window = address & ~window_offset;
    space = window == shared_window ? Space::shared : window == local_window ? Space::local : Space::global;
  }
  const std::size_t local_bytes = warp.block.launch.kernel.local_bytes;
  switch (space) {
    case Space::shared:
      return in_block(warp.block.shared, shared_window, address & window_offset, bytes, warp, i, lane,
                      "shared");
    case Space::local:
      return in_block(std::span(warp.local).subspan(lane * local_bytes, local_bytes), local_window,
                      address & window_offset, bytes, warp, i, lane, "local");
    case Space::param:
      return in_block(warp.block.launch.parameters, 0, address, bytes, warp, i, lane, "parameters'");
    default:
      return in_global(address, bytes, warp, i, lane);
  }
}

void note(const Place& place, std::size_t bytes, Access access, std::uint64_t now, Warp& warp,
          const Instruction& i, unsigned lane) {
  if (!place.is_checked) return;
  Shadow& shadow = warp.block.launch.shadow;
  if (place.is_shared && access != Access::write && !shadow.is_written(place.address, bytes, now))
    warp.fail(i, lane,
              fmt::format("{} bytes at {} of shared memory are read before the block writes them", bytes,
                          place.address - shared_window));
  if (const Flaw flaw = shadow.note(place.address, bytes, access, now + lane, place.is_shared))
    warp.fail(i, lane, fmt::format("a race for {} bytes at {:#x}: {}", bytes, place.address, flaw));
}

/// Mode of volatile or relaxed accesses, which may meet others of these.
constexpr std::uint8_t is_relaxed = 1;

/// Calls body(lane, memory) for each active lane with the place of its access, after checking it.
template <Space space, class Body>
void for_places(Warp& warp, const Instruction& i, std::size_t bytes, Access access, const Body& body) {
  const std::uint64_t* const address = warp.row(i.from[0]);
  const std::uint64_t now = Shadow::time_of(warp.now());
  for_lanes(warp, [&](unsigned lane) {
    const Place place =
        place_of(space, address[lane] + static_cast<std::uint64_t>(i.offset), bytes, warp, i, lane);
    note(place, bytes, access, now, warp, i, lane);
    body(lane, place.memory);
  });
}

template <class T, Space space>
void load(Warp& warp, const Instruction& i) {
  const auto read = [&](unsigned lane, const std::byte* memory) {
    for (unsigned n = 0; n < i.num_to; ++n) {
      if (i.to[n] < 0) continue;
      T value;
      std::memcpy(&value, memory + n * sizeof(T), sizeof value);
      if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        warp.row(i.to[n])[lane] = static_cast<std::uint64_t>(std::int64_t{value});
      else
        warp.row(i.to[n])[lane] = bits_of(value);
    }
  };
  for_places<space>(warp, i, sizeof(T) * i.num_to, Access::read, read);
}

template <class T, Space space>
void store(Warp& warp, const Instruction& i) {
  const Access access = i.mode == is_relaxed ? Access::atomic : Access::write;
  for_places<space>(warp, i, sizeof(T) * i.num_to, access, [&](unsigned lane, std::byte* memory) {
    for (unsigned n = 0; n < i.num_to; ++n) {
      const T value = value_of<T>(warp.row(i.to[n])[lane]);
      std::memcpy(memory + n * sizeof(T), &value, sizeof value);
    }
  });
}

/// Writes of(old value, operands…); an atom also returns the old value. A reduction has no result.
template <class T, auto of, Space space, bool has_result>
void update(Warp& warp, const Instruction& i) {
  for_places<space>(warp, i, sizeof(T), Access::atomic, [&](unsigned lane, std::byte* memory) {
    T before;
    std::memcpy(&before, memory, sizeof before);
    const auto operand = [&](unsigned n) {
      return value_of<T>(warp.row(has_result ? i.from[n + 1] : i.to[n])[lane]);
    };
    T after;
    if constexpr (requires { of(before, before, before); })
      after = of(before, operand(0), operand(1));
    else
      after = of(before, operand(0));
    std::memcpy(memory, &after, sizeof after);
    if (has_result && i.to[0] >= 0) warp.row(i.to[0])[lane] = bits_of(before);
  });
}

constexpr auto sum = []<class T>(T a, T b) -> T { return static_cast<T>(a + b); };
constexpr auto least = []<class T>(T a, T b) -> T { return std::min(a, b); };
constexpr auto most = []<class T>(T a, T b) -> T { return std::max(a, b); };
constexpr auto exchanged = []<class T>(T, T b) -> T { return b; };
constexpr auto swapped = []<class T>(T a, T expected, T b) -> T { return a == expected ? b : a; };
constexpr auto both = []<class T>(T a, T b) -> T { return a & b; };
constexpr auto either = []<class T>(T a, T b) -> T { return a | b; };
constexpr auto one_of = []<class T>(T a, T b) -> T { return a ^ b; };

/// Converts addresses of shared memory and the like to generic ones, and back.
template <std::uint64_t window, bool to_generic>
void cast(Warp& warp, const Instruction& i) {
  const std::uint64_t* const from = warp.row(i.from[0]);
  std::uint64_t* const to = warp.row(i.to[0]);
  for_lanes(warp, [&](unsigned lane) {
    const std::uint64_t address = from[lane];
    if (!to_generic && (address & ~(window_bytes - 1)) != window && window != 0)
      warp.fail(i, lane, fmt::format("{:#x} is no address of that memory", address));
    to[lane] = to_generic ? address + window : address - window;
  });
}

void nothing(Warp&, const Instruction&) {}

template <class T, Space space>
void add_space(Table& table, const std::string& name, const std::string& type) {
  table["ld." + name + type] = {load<T, space>};
  if (space != Space::param) table["st." + name + type] = {store<T, space>};
}
template <class T>
void add_type(Table& table, const std::string& type) {
  add_space<T, Space::generic>(table, "", type);
  add_space<T, Space::global>(table, "global.", type);
  add_space<T, Space::shared>(table, "shared.", type);
  add_space<T, Space::local>(table, "local.", type);
  add_space<T, Space::param>(table, "param.", type);
}
template <class... T>
void add_types(Table& table) {
  (add_type<T>(table, type_name<T>()), ...);
  ((std::is_unsigned_v<T> ? add_type<T>(table, untyped_name<T>()) : void()), ...);
}

template <class T, auto of, Space space>
void add_update_in(Table& table, const std::string& space_name, const std::string& name) {
  table["atom." + space_name + name] = {update<T, of, space, true>};
  table["red." + space_name + name] = {update<T, of, space, false>};
}
template <class T, auto of>
void add_update(Table& table, const std::string& name) {
  add_update_in<T, of, Space::generic>(table, "", name);
  add_update_in<T, of, Space::global>(table, "global.", name);
  add_update_in<T, of, Space::shared>(table, "shared.", name);
}

Table make_table() {
  Table table;
  add_types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
            std::uint64_t, std::int64_t, float, double>(table);
  add_update<std::uint32_t, sum>(table, "add.u32");
  add_update<std::uint32_t, sum>(table, "add.s32");
  add_update<std::uint64_t, sum>(table, "add.u64");
  add_update<float, sum>(table, "add.f32");
  add_update<double, sum>(table, "add.f64");
  add_update<std::uint32_t, least>(table, "min.u32");
  add_update<std::int32_t, least>(table, "min.s32");
  add_update<std::uint32_t, most>(table, "max.u32");
  add_update<std::int32_t, most>(table, "max.s32");
  add_update<std::uint32_t, exchanged>(table, "exch.b32");
  add_update<std::uint64_t, exchanged>(table, "exch.b64");
  add_update<std::uint32_t, swapped>(table, "cas.b32");
  add_update<std::uint64_t, swapped>(table, "cas.b64");
  add_update<std::uint32_t, both>(table, "and.b32");
  add_update<std::uint32_t, either>(table, "or.b32");
  add_update<std::uint32_t, one_of>(table, "xor.b32");
  table["cvta.shared.u64"] = {cast<shared_window, true>};
  table["cvta.to.shared.u64"] = {cast<shared_window, false>};
  table["cvta.local.u64"] = {cast<local_window, true>};
  table["cvta.to.local.u64"] = {cast<local_window, false>};
  table["cvta.global.u64"] = {cast<0, true>};
  table["cvta.to.global.u64"] = {cast<0, false>};
  for (const char* const no_access :
       {"prefetch.global.L1", "prefetch.global.L2", "membar.cta", "membar.gl", "membar.sys",
        "fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.sc.cta", "fence.sc.gpu"})
    table[no_access] = {nothing};
  return table;
}

}  // namespace

std::optional<Operation> find_access(std::string_view opcode) {
  static const Table table = make_table();
  // Modifiers that do not change the result: caches, hints and scopes. A vector's length is that of its
  // operand.
  static constexpr std::string_view hints[] = {".nc",
                                               ".ca",
                                               ".cg",
                                               ".cs",
                                               ".cv",
                                               ".lu",
                                               ".wb",
                                               ".wt",
                                               ".v2",
                                               ".v4",
                                               ".v8",
                                               ".weak",
                                               ".gpu",
                                               ".cta",
                                               ".sys",
                                               ".L1::no_allocate",
                                               ".L1::evict_first",
                                               ".L1::evict_last",
                                               ".L2::64B",
                                               ".L2::128B",
                                               ".L2::256B"};
  if (const auto operation = find_in(table, opcode)) return operation;
  std::string plain;
  std::uint8_t mode = 0;
  for (std::size_t begin = 0; begin < opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', begin + 1), opcode.size());
    const std::string_view part = opcode.substr(begin, end - begin);
    if (part == ".volatile" || part == ".relaxed")
      mode = is_relaxed;
    else if (std::ranges::find(hints, part) == std::end(hints))
      plain += part;
    begin = end;
  }
  std::optional<Operation> operation = find_in(table, plain);
  if (operation) operation->mode = mode;
  return operation;
}

}  // namespace dt::ptx
