#include "tensor/piece.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt {

namespace {

/// The common box of two pieces, as a sequence of rows that are contiguous in both boxes. A row's offset in
/// either box grows with its number, so the rows that both intervals touch are one range, found by bisection.
class CommonRows {
 public:
  CommonRows(const Piece& source, const Piece& target);
  std::int64_t count() const { return num_rows_; }
  std::int64_t length() const { return row_length_; }
  /// Returns where row `row` begins, in elements of the box.
  std::int64_t source_offset(std::int64_t row) const { return offset(row, source_strides_, source_base_); }
  std::int64_t target_offset(std::int64_t row) const { return offset(row, target_strides_, target_base_); }

 private:
  std::int64_t offset(std::int64_t row, const std::vector<std::int64_t>& strides, std::int64_t base) const;

  std::vector<std::int64_t> outer_;  // extents of the dims that are walked row by row
  std::vector<std::int64_t> source_strides_;
  std::vector<std::int64_t> target_strides_;
  std::int64_t source_base_ = 0;
  std::int64_t target_base_ = 0;
  std::int64_t num_rows_ = 1;
  std::int64_t row_length_ = 1;
};

CommonRows::CommonRows(const Piece& source, const Piece& target) {
  std::int64_t source_stride = 1;
  std::int64_t target_stride = 1;
  bool contiguous = true;  // all inner dims are whole in both boxes
  for (int d = source.global.rank() - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t begin = std::max(source.start[i], target.start[i]);
    const std::int64_t end = std::min(source.start[i] + source.box[d], target.start[i] + target.box[d]);
    const std::int64_t extent = std::max<std::int64_t>(end - begin, 0);
    if (contiguous) {
      row_length_ *= extent;
      contiguous = extent == source.box[d] && extent == target.box[d];
    } else {
      outer_.insert(outer_.begin(), extent);
      source_strides_.insert(source_strides_.begin(), source_stride);
      target_strides_.insert(target_strides_.begin(), target_stride);
      num_rows_ *= extent;
    }
    source_base_ += (begin - source.start[i]) * source_stride;
    target_base_ += (begin - target.start[i]) * target_stride;
    source_stride *= source.box[d];
    target_stride *= target.box[d];
  }
  if (row_length_ == 0) num_rows_ = 0;
}

std::int64_t CommonRows::offset(std::int64_t row, const std::vector<std::int64_t>& strides,
                                std::int64_t base) const {
  for (std::size_t i = outer_.size(); i-- > 0;) {
    base += row % outer_[i] * strides[i];
    row /= outer_[i];
  }
  return base;
}

/// Returns the first of `count` rows for which `is_past` holds. Rows for which it holds come last.
/// Returns `count` if there are none.
template <class Predicate>
std::int64_t first_row(std::int64_t count, Predicate is_past) {
  std::int64_t low = 0;
  std::int64_t high = count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (is_past(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Returns the first row that both intervals touch, if any do.
std::int64_t first_touched(const CommonRows& rows, const Piece& source, const Piece& target) {
  return first_row(rows.count(), [&](std::int64_t row) {
    return rows.source_offset(row) + rows.length() > source.begin &&
           rows.target_offset(row) + rows.length() > target.begin;
  });
}

void append(std::vector<CopyRange>& runs, const CopyRange& run) {
  if (run.count <= 0) return;
  if (!runs.empty()) {
    CopyRange& last = runs.back();
    if (last.source + last.count == run.source && last.target + last.count == run.target) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

std::uint64_t bytes_of(const SizedPiece& p) {
  return static_cast<std::uint64_t>(p.piece.numel()) * p.element_bytes;
}

/// Returns ⌊total·shard/num_shards⌋, even if the product exceeds 64 bits.
std::uint64_t border(std::uint64_t total, std::uint64_t shard, std::uint64_t num_shards) {
  return total / num_shards * shard + total % num_shards * shard / num_shards;
}

/// Returns how many whole elements of a piece that begins at byte `at` of the sequence end at or before
/// byte `limit`.
std::int64_t elements_before(std::uint64_t limit, std::uint64_t at, const SizedPiece& p) {
  if (limit <= at) return 0;
  return static_cast<std::int64_t>(std::min(limit - at, bytes_of(p)) / p.element_bytes);
}

}  // namespace

Piece Piece::whole(const Shape& global) {
  return {global, std::vector<std::int64_t>(static_cast<std::size_t>(global.rank())), global, 0,
          global.numel()};
}

bool Piece::is_whole() const {
  return *this == whole(global);
}

void Piece::validate() const {
  const auto rank = static_cast<std::size_t>(global.rank());
  if (start.size() != rank || box.rank() != global.rank()) {
    throw input_error("a piece of a tensor of shape {} has {} starts and {} extents", global.to_string(),
                      start.size(), box.rank());
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const int d = static_cast<int>(i);
    if (start[i] < 0 || box[d] < 0 || global[d] < 0 || start[i] > global[d] ||
        box[d] > global[d] - start[i]) {
      throw input_error("a piece's dim {} has {} elements from {}: outside the tensor's shape {}", d, box[d],
                        start[i], global.to_string());
    }
  }
  if (begin < 0 || begin > end || end > box.numel()) {
    throw input_error("a piece's interval {} to {} is outside its box {} of {} elements", begin, end,
                      box.to_string(), box.numel());
  }
}

std::vector<CopyRange> intersect(const Piece& source, const Piece& target) {
  DT_CHECK(source.global == target.global, "pieces of shapes {} and {} are intersected",
           source.global.to_string(), target.global.to_string());
  const CommonRows rows(source, target);
  const std::int64_t first = first_touched(rows, source, target);
  std::vector<CopyRange> runs;
  for (std::int64_t row = first; row < rows.count(); ++row) {
    const std::int64_t from = rows.source_offset(row);
    const std::int64_t to = rows.target_offset(row);
    if (from >= source.end || to >= target.end) break;
    const std::int64_t skipped = std::max({std::int64_t{0}, source.begin - from, target.begin - to});
    const std::int64_t kept_end = std::min({rows.length(), source.end - from, target.end - to});
    append(runs, {from + skipped - source.begin, to + skipped - target.begin, kept_end - skipped});
  }
  return runs;
}

std::pair<std::int64_t, std::int64_t> intersection_bounds(const Piece& source, const Piece& target) {
  const CommonRows rows(source, target);
  const std::int64_t first = first_touched(rows, source, target);
  const std::int64_t end = first_row(rows.count(), [&](std::int64_t row) {
    return rows.source_offset(row) >= source.end || rows.target_offset(row) >= target.end;
  });
  if (first >= end) return {0, 0};
  return {std::max(rows.source_offset(first), source.begin),
          std::min(rows.source_offset(end - 1) + rows.length(), source.end)};
}

std::vector<IndexedPiece> partition_by_bytes(std::span<const SizedPiece> whole, int shard, int num_shards) {
  DT_CHECK(shard >= 0 && shard < num_shards, "part {} of {}", shard, num_shards);
  std::uint64_t total = 0;
  for (const SizedPiece& p : whole) total += bytes_of(p);
  const auto number = static_cast<std::uint64_t>(shard);
  const std::uint64_t begin = border(total, number, static_cast<std::uint64_t>(num_shards));
  const std::uint64_t end = border(total, number + 1, static_cast<std::uint64_t>(num_shards));
  std::vector<IndexedPiece> pieces;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t from = elements_before(begin, at, whole[i]);
    const std::int64_t to = elements_before(end, at, whole[i]);
    at += bytes_of(whole[i]);
    if (from == to) continue;
    IndexedPiece& own = pieces.emplace_back(IndexedPiece{i, whole[i].piece});
    own.piece.end = own.piece.begin + to;
    own.piece.begin += from;
  }
  return pieces;
}

}  // namespace dt
