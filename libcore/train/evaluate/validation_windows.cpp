#include "train/evaluate/validation_windows.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "data/read/loader.hpp"

namespace dt::train {

namespace {

/// Returns ⌊a · b / c⌋, exactly.
std::uint64_t mul_div_floor(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{a} * b / c);
}

}  // namespace

ValidationWindows::ValidationWindows(const data::Mixture& mixture, std::int64_t sequence_length,
                                     std::int64_t micro_batch, std::optional<std::uint64_t> max_windows)
    : size_(micro_batch) {
  const std::uint64_t available = data::num_validation_windows(mixture, sequence_length);
  const std::uint64_t wanted = std::min(available, max_windows.value_or(available));
  std::uint64_t before = 0;
  for (std::size_t source = 0; source < mixture.size(); ++source) {
    const std::uint64_t end = before + data::num_validation_windows(mixture.source(source), sequence_length);
    const std::uint64_t windows =
        available == 0 ? 0 : mul_div_floor(end, wanted, available) - mul_div_floor(before, wanted, available);
    const std::int64_t last_end = micro_batch_ends_.empty() ? 0 : micro_batch_ends_.back();
    windows_.push_back(windows);
    micro_batch_ends_.push_back(last_end + ceil_div(static_cast<std::int64_t>(windows), size_));
    before = end;
  }
}

ValidationWindows::SourceWindows ValidationWindows::micro_batch(std::int64_t index) const {
  DT_CHECK(index >= 0 && index < num_micro_batches(), "micro-batch {} of {}", index, num_micro_batches());
  const auto end = std::ranges::upper_bound(micro_batch_ends_, index);
  const auto source = static_cast<std::size_t>(end - micro_batch_ends_.begin());
  const std::int64_t begin = source == 0 ? 0 : micro_batch_ends_[source - 1];
  const auto first = static_cast<std::uint64_t>((index - begin) * size_);
  return {source, first, std::min(size_, static_cast<std::int64_t>(windows_[source] - first))};
}

std::uint64_t ValidationWindows::total() const {
  return std::accumulate(windows_.begin(), windows_.end(), std::uint64_t{0});
}

bool has_targets(const data::Mixture& mixture, const ValidationWindows& windows,
                 std::int64_t sequence_length) {
  if (!mixture.masks_targets()) return windows.total() > 0;
  for (std::int64_t i = 0; i < windows.num_micro_batches(); ++i) {
    const ValidationWindows::SourceWindows source_windows = windows.micro_batch(i);
    const data::Batch batch = data::validation_batch(mixture.source(source_windows.source), sequence_length,
                                                     source_windows.first, source_windows.count);
    if (data::num_targets(batch) > 0) return true;
  }
  return false;
}

}  // namespace dt::train
