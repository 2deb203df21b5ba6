#pragma once
// Memory that the ranks of a group share: a box for bytes from each rank to each other rank, and the ranks'
// wishes about splitting the group.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt::test_device {

/// Bytes from one rank to another, in order. One rank writes, one reads.
class Box {
 public:
  /// Writes as many bytes as there is room for; returns their number.
  std::size_t write(const std::byte* bytes, std::size_t count);
  /// Reads as many bytes as there are; returns their number.
  std::size_t read(std::byte* bytes, std::size_t count);
  std::uint64_t written() const { return written_; }
  bool has_read(std::uint64_t bytes) const { return read_ >= bytes; }

 private:
  static constexpr std::size_t capacity = 1 << 16;
  std::atomic<std::uint64_t> written_, read_;
  std::byte data_[capacity];
};

/// Shared memory of a group. Zeroed memory means that no rank has arrived.
class SharedBoxes {
 public:
  static constexpr int most_ranks = 16, most_splits = 32;
  struct Wish {
    std::atomic<bool> is_known;
    int color, key;
  };

  /// Opens the memory; the first rank to come creates it.
  SharedBoxes(const std::string& name, int rank, int size);
  ~SharedBoxes();
  SharedBoxes(const SharedBoxes&) = delete;

  bool all_have_arrived();
  bool some_process_has_ended() const;
  Box& box(int from, int to) const { return boxes_[from * size_ + to]; }
  Wish& wish(int split, int rank) const { return head_->wishes[split][rank]; }

 private:
  struct Head {
    std::atomic<int> arrived;
    std::atomic<pid_t> processes[most_ranks];
    Wish wishes[most_splits][most_ranks];
  };
  std::string name_;
  int rank_, size_;
  std::size_t bytes_;
  Head* head_;
  Box* boxes_;
};

}  // namespace dt::test_device
