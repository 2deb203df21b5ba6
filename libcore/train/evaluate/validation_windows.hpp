#pragma once
// The choice of an evaluation's validation windows, and their division into micro-batches.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/read/mixture.hpp"

namespace dt::train {

/// The validation windows of an evaluation, divided into micro-batches: the windows of each source's
/// validation split in order, source after source. No micro-batch has windows of two sources.
class ValidationWindows {
 public:
  /// `max_windows` is the most windows to take. Each source contributes its first ones, in
  /// proportion to its number of windows.
  ValidationWindows(const data::Mixture& mixture, std::int64_t sequence_length, std::int64_t micro_batch,
                    std::optional<std::uint64_t> max_windows);

  struct SourceWindows {
    std::size_t source;
    std::uint64_t first;
    std::int64_t count;
  };
  std::int64_t num_micro_batches() const { return micro_batch_ends_.back(); }
  SourceWindows micro_batch(std::int64_t index) const;
  std::uint64_t num_windows_of(std::size_t source) const { return windows_[source]; }
  std::uint64_t total() const;

 private:
  std::int64_t size_;
  std::vector<std::uint64_t> windows_;          // windows of each source
  std::vector<std::int64_t> micro_batch_ends_;  // end of each source, among all micro-batches
};

/// Returns whether a token of these windows of the mixture is a target. Reads until it finds one.
bool has_targets(const data::Mixture& mixture, const ValidationWindows& windows,
                 std::int64_t sequence_length);

}  // namespace dt::train
