#pragma once
// Records the last accesses of memory, so that accesses which nothing orders are found.

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace dt::ptx {

/// When a thread does something. Barriers end a block's epochs. bar.warp.sync ends a warp's, whichever of
/// its lanes take part.
struct Moment {
  std::uint64_t block = 0;  // number in the launch, from 1
  std::uint64_t epoch = 0, warp_epoch = 0;
  unsigned warp = 0;
};

enum class Access { read, write, atomic };

/// The message of a wrong access, nullptr if there is no error.
using Flaw = const char*;

/// The accesses of one launch, remembered by units of two bytes. Threads that access single bytes of one
/// unit count as accessing the same place. Between threads only barriers make order; neither fences nor
/// atomics do.
class Shadow {
 public:
  /// Returns a moment as a number, to which the caller adds the lane.
  static std::uint64_t time_of(const Moment& now);
  /// Records an access and returns its flaw. `own`: memory that belongs to a block, where other blocks'
  /// accesses do not count.
  Flaw note(std::uint64_t address, std::size_t bytes, Access access, std::uint64_t time, bool own);
  /// Returns whether the block has written all of it.
  bool is_written(std::uint64_t address, std::size_t bytes, std::uint64_t time);

 private:
  static constexpr std::uint64_t unit_bytes = 2, page_units = 1024;
  /// The last write, and the reads since the last barrier. Times are 0 if there was none, and comparable as
  /// numbers; the times of reads name no lane.
  struct Unit {
    std::uint64_t write = 0, read = 0;
    std::uint32_t lanes = 0;                   // readers at that time
    bool is_atomic = false;                    // the write's kind
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
  std::array<Recent, 256> recent_{};  // indexed by the number's last digits
};

}  // namespace dt::ptx
