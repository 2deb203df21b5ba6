#pragma once
// Who accessed memory last, so that accesses which nothing orders are found.

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace dt::ptx {

/// When a thread does something. Of a block, barriers end epochs; of a warp, bar.warp.sync does, whoever of
/// its lanes takes part.
struct Moment {
  std::uint64_t block = 0;  // of the launch, from 1
  std::uint64_t epoch = 0, warp_epoch = 0;
  unsigned warp = 0;
};

enum class Access { read, write, atomic };

/// What is wrong with an access, nullptr where nothing is.
using Flaw = const char*;

/// Of one launch. Accesses are remembered by units of two bytes: threads that access single bytes of one
/// count as accessing the same. Between threads order is made by barriers alone, neither by fences nor by
/// atomics.
class Shadow {
 public:
  /// A moment as a number, to which that of a lane is added.
  static std::uint64_t time_of(const Moment& now);
  /// `own`: memory of a block's own, where another block's accesses are none.
  Flaw note(std::uint64_t address, std::size_t bytes, Access access, std::uint64_t time, bool own);
  /// Whether the block has written all of it.
  bool is_written(std::uint64_t address, std::size_t bytes, std::uint64_t time);

 private:
  static constexpr std::uint64_t unit_bytes = 2, page_units = 1024;
  /// The last write, and the reads since the last barrier. Times are 0 where there was none, and comparable
  /// as numbers; those of reads name no lane.
  struct Unit {
    std::uint64_t write = 0, read = 0;
    std::uint32_t lanes = 0;                   // that read then
    bool is_atomic = false;                    // the write
    bool by_warps = false, by_blocks = false;  // several have read
  };
  using Page = std::array<Unit, page_units>;

  Page& page_of(std::uint64_t number);
  static Flaw note_read(Unit& unit, std::uint64_t time, bool own);
  static Flaw note_write(Unit& unit, std::uint64_t time, bool own, bool is_atomic);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  struct Recent {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;
  };
  std::array<Recent, 256> recent_{};  // by the number's last digits
};

}  // namespace dt::ptx
