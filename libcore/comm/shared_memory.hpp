#pragma once
// Memory that processes of one host have in common.

#include <array>
#include <cstddef>
#include <cstdint>

namespace dt::comm {

/// One process makes it, zeroed, and tells others where it is; they map the same. It has no name in any file
/// system and goes with the last process that maps it. Ranks that are threads share it in the same way.
class SharedMemory {
 public:
  /// Where the memory is: any bytes that reach the others unchanged.
  struct Offer {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;  // −1: there is none
    std::array<std::uint64_t, 2> token{};
  };

  /// Of so many bytes, which all must know. Nothing is there yet.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;

  /// Of the one that makes it. Where the system refuses, there is none.
  Offer make();
  /// Whether this process now has what another made; it must not have closed the offer yet.
  bool accept(const Offer& offer);
  /// All have it, or nobody will want it.
  void close_offer();

  /// Once made or accepted; begins a page.
  std::byte* data() const;
  std::size_t bytes() const { return bytes_; }

 private:
  bool map(int descriptor);
  std::size_t mapped_bytes() const;

  std::size_t bytes_;
  int descriptor_ = -1;  // of the one that made it, until all have it
  std::byte* mapping_ = nullptr;
};

}  // namespace dt::comm
