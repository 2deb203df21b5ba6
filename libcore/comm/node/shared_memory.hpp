#pragma once
// Memory that processes of one host share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace dt::comm {

/// Memory that one process makes, zeroed. That process tells others where it is, and they map the same.
/// It has no name in any file system and goes with the last process that maps it. Ranks that are
/// threads of one process share one mapping.
class SharedMemory {
 public:
  /// The place of the memory, as bytes that must reach the others unchanged.
  struct Offer {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;  // −1: there is none
    std::array<std::uint64_t, 2> token{};
    std::uint64_t mapping = 0;  // address of the mapping in that process
  };

  /// Sets the size, which all processes must know. Makes no memory yet.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;

  /// Makes the memory; one process calls it. Returns an offer without a descriptor if the system
  /// refuses.
  Offer make();
  /// Maps the memory that another process made, or shares the mapping of another object of this process.
  /// Returns whether this object now has it. The maker must not have closed the offer yet.
  bool accept(const Offer& offer);
  /// Ends the offer: all have the memory, or no process will want it.
  void close_offer();

  /// Returns the memory, which begins a page. Call once it is made or accepted.
  std::byte* data() const;
  std::size_t bytes() const { return bytes_; }

 private:
  class Mapping;
  std::size_t mapped_bytes() const;

  std::size_t bytes_;
  int descriptor_ = -1;  // open in the process that made the memory, until all have it
  std::shared_ptr<Mapping> mapping_;
};

}  // namespace dt::comm
