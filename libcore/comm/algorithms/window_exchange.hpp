#pragma once
// Brings small parts between the ranks of one host, through the memory that they share.

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/algorithms/algorithms.hpp"

namespace dt::comm {

/// The sequence of an all-to-all that passes through a window. Each operation takes one segment, whatever
/// its parts: a rank puts its parts side by side into its slot, and takes the parts that others put there
/// for it. Larger parts than a slot has room for go another way, as both of their ranks know.
/// Errors, while it goes on: those of NodeWindow::may_begin; internal, a part has another size than its
/// receiver expects.
class WindowExchange {
 public:
  /// Collective: all ranks of the group, in the order of its operations; never blocks.
  WindowExchange(const Caller& caller, const Collective& call);
  WindowExchange(const WindowExchange&) = delete;
  ~WindowExchange();

  /// Returns whether the part passes through the window.
  bool takes(int /*peer*/, const Range& part) const { return bytes_of(part) <= most_bytes_; }
  /// Makes the rounds of the sequence.
  bool operator()(int index, Round& round);

 private:
  std::size_t bytes_of(const Range& part) const {
    return static_cast<std::size_t>(part.count) * element_bytes_;
  }
  const Range& part(int rank) const { return (*ranges_)[static_cast<std::size_t>(rank)]; }
  const Range& arriving(int rank) const { return part(window_->size() + rank); }
  std::byte* at(std::byte* side, const Range& part) const {
    return side + static_cast<std::size_t>(part.begin) * element_bytes_;
  }
  void put() const;
  void take();
  void copy_if_taken(const std::byte* from, std::byte* to, const Range& part) const;

  std::shared_ptr<NodeWindow> window_;
  std::shared_ptr<const std::vector<Range>> ranges_;
  std::byte *in_, *out_;
  std::size_t element_bytes_, most_bytes_;
  std::uint64_t content_;
  std::uint64_t segment_;
  bool is_done_ = false;
};

}  // namespace dt::comm
