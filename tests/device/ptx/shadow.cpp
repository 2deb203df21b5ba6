#include "device/ptx/shadow.hpp"

#include "base/error.hpp"

namespace dt::ptx {

namespace {

// Fields of a time from the highest bits on: block, epoch, warp, the warp's epoch, lane.
constexpr int lane_bits = 5, warp_epoch_bits = 15, warp_bits = 5, epoch_bits = 15;
constexpr int warp_shift = lane_bits + warp_epoch_bits, epoch_shift = warp_shift + warp_bits,
              block_shift = epoch_shift + epoch_bits;

constexpr std::uint64_t block_of(std::uint64_t time) {
  return time >> block_shift;
}
constexpr std::uint64_t epoch_of(std::uint64_t time) {
  return time >> epoch_shift;
}
constexpr std::uint64_t warp_of(std::uint64_t time) {
  return time >> warp_shift;
}
constexpr std::uint64_t warp_epoch_of(std::uint64_t time) {
  return time >> lane_bits;
}

constexpr Flaw between_blocks = "another block of the launch accesses it too",
               between_warps = "another warp accesses it too, and no barrier lies between",
               between_lanes = "another lane accesses it too, and no bar.warp.sync lies between";

constexpr std::uint64_t lane_mask = (std::uint64_t{1} << lane_bits) - 1;

/// Returns the flaw of an access that may not be concurrent with the one before.
Flaw conflict(std::uint64_t before, std::uint64_t time, bool own) {
  if (before == 0 || before == time) return nullptr;
  if (block_of(before) != block_of(time)) return own ? nullptr : between_blocks;
  if (epoch_of(before) != epoch_of(time)) return nullptr;
  if (warp_of(before) != warp_of(time)) return between_warps;
  const bool is_same_lane = ((before ^ time) & lane_mask) == 0;
  return is_same_lane || warp_epoch_of(before) != warp_epoch_of(time) ? nullptr : between_lanes;
}

}  // namespace

std::uint64_t Shadow::time_of(const Moment& now) {
  DT_CHECK(now.epoch < 1U << epoch_bits && now.warp_epoch < 1U << warp_epoch_bits &&
               now.block < std::uint64_t{1} << (64 - block_shift),
           "more barriers or blocks than the shadow counts");
  return now.block << block_shift | now.epoch << epoch_shift | std::uint64_t{now.warp} << warp_shift |
         now.warp_epoch << lane_bits;
}

Shadow::Page& Shadow::page_of(std::uint64_t number) {
  Recent& recent = recent_[number % recent_.size()];
  if (recent.number == number) return *recent.page;
  auto& page = pages_[number];
  if (!page) page = std::make_unique<Page>();
  recent = {number, page.get()};
  return *page;
}

Flaw Shadow::note_read(Unit& unit, std::uint64_t time, bool own) {
  if (const Flaw flaw = conflict(unit.write, time, own)) return flaw;
  const std::uint64_t reader = time & ~lane_mask;
  const std::uint32_t lane = std::uint32_t{1} << (time & lane_mask);
  if (unit.read == reader) {
    unit.lanes |= lane;
    return nullptr;
  }
  const bool is_same_block = block_of(unit.read) == block_of(time);
  const bool is_same_epoch = epoch_of(unit.read) == epoch_of(time);
  unit.by_blocks = unit.read != 0 && !own && (unit.by_blocks || !is_same_block);
  unit.by_warps = is_same_epoch && (unit.by_warps || warp_of(unit.read) != warp_of(time));
  unit.read = reader;
  unit.lanes = lane;
  return nullptr;
}

Flaw Shadow::note_write(Unit& unit, std::uint64_t time, bool own, bool is_atomic) {
  if (!is_atomic || !unit.is_atomic) {
    if (const Flaw flaw = conflict(unit.write, time, own)) return flaw;
  }
  if (unit.by_blocks || (unit.read != 0 && block_of(unit.read) != block_of(time) && !own))
    return between_blocks;
  if (unit.read != 0 && epoch_of(unit.read) == epoch_of(time)) {
    if (unit.by_warps || warp_of(unit.read) != warp_of(time)) return between_warps;
    const bool by_others = (unit.lanes & ~(std::uint32_t{1} << (time & lane_mask))) != 0;
    if (by_others && warp_epoch_of(unit.read) == warp_epoch_of(time)) return between_lanes;
  }
  unit.write = time;
  unit.is_atomic = is_atomic;
  return nullptr;
}

Flaw Shadow::note(std::uint64_t address, std::size_t bytes, Access access, std::uint64_t time, bool own) {
  for (std::uint64_t number = address / unit_bytes; number * unit_bytes < address + bytes; ++number) {
    Unit& unit = page_of(number / page_units)[number % page_units];
    const Flaw flaw = access == Access::read ? note_read(unit, time, own)
                                             : note_write(unit, time, own, access == Access::atomic);
    if (flaw != nullptr) return flaw;
  }
  return nullptr;
}

bool Shadow::is_written(std::uint64_t address, std::size_t bytes, std::uint64_t time) {
  for (std::uint64_t number = address / unit_bytes; number * unit_bytes < address + bytes; ++number) {
    if (block_of(page_of(number / page_units)[number % page_units].write) != block_of(time)) return false;
  }
  return true;
}

}  // namespace dt::ptx
