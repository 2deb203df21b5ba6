#include "checkpoint/piece_index.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <ranges>

#include "checkpoint/indexed_pieces.hpp"
#include "checkpoint/listed_pieces.hpp"

namespace dt::checkpoint {

namespace {

bool boxes_overlap(const Piece& a, const Piece& b) {
  for (int dim = 0; dim < std::min(a.box.rank(), b.box.rank()); ++dim) {
    const auto d = static_cast<std::size_t>(dim);
    if (a.start[d] + a.box[dim] <= b.start[d] || b.start[d] + b.box[dim] <= a.start[d]) return false;
  }
  return true;
}

}  // namespace

std::uint64_t StoredTensor::num_pieces() const {
  std::uint64_t count = 0;
  for (const StoredBox& box : boxes) count += box.count;
  return count;
}

const StoredTensor* PieceIndex::find(const std::string& kind, const std::string& tensor) const {
  const auto found = numbers_.find(kind + "/" + tensor);
  return found == numbers_.end() ? nullptr : &tensors_[found->second];
}

std::uint64_t PieceIndex::num_pieces() const {
  std::uint64_t count = 0;
  for (const StoredTensor& tensor : tensors_) count += tensor.num_pieces();
  return count;
}

std::pair<std::uint64_t, std::uint64_t> PieceIndex::find_intersecting(const StoredBox& box,
                                                                      const Piece& wanted) const {
  const std::uint64_t end_number = box.first + box.count;
  if (box.count == 1 || !box.are_disjoint) return {box.first, end_number};
  const auto [begin, end] = intersection_bounds(box.whole, wanted);
  const auto numbers = std::views::iota(box.first, end_number);
  const auto first = std::ranges::upper_bound(numbers, begin, {}, [&](auto n) { return interval(n).second; });
  const auto last =
      std::ranges::lower_bound(first, numbers.end(), end, {}, [&](auto n) { return interval(n).first; });
  const auto number_of = [&](auto at) {
    return box.first + static_cast<std::uint64_t>(at - numbers.begin());
  };
  return {number_of(first), number_of(last)};
}

void PieceIndex::for_each(const StoredTensor& tensor,
                          const std::function<void(const StoredPiece&)>& use) const {
  for (const StoredBox& box : tensor.boxes) {
    for (std::uint64_t number = box.first; number < box.first + box.count; ++number) use(piece(number));
  }
}

bool PieceIndex::add(StoredTensor tensor) {
  if (!numbers_.try_emplace(tensor.kind + "/" + tensor.tensor, tensors_.size()).second) return false;
  tensors_.push_back(std::move(tensor));
  return true;
}

std::unique_ptr<const PieceIndex> open_pieces(const Manifest& manifest, const fs::path& checkpoint) {
  if (!manifest.index) return std::make_unique<ListedPieces>(manifest);
  return std::make_unique<IndexedPieces>(manifest, checkpoint / manifest.index->name);
}

std::unique_ptr<const PieceIndex> parse_pieces(const Manifest& manifest, std::vector<std::byte> index) {
  return std::make_unique<IndexedPieces>(manifest, std::move(index));
}

std::string dataset_name(const std::string& kind, const std::string& tensor, const Piece& piece,
                         std::uint32_t part) {
  const std::string whole = fmt::format("/{}/{}", kind, tensor);
  return piece.is_whole() ? whole : fmt::format("{}@{}", whole, part);
}

std::uint64_t stored_bytes(const PieceIndex& pieces) {
  std::uint64_t total = 0;
  for (const StoredTensor& tensor : pieces.tensors()) total += tensor.payload_bytes;
  return total;
}

bool any_overlap(const StoredTensor& tensor) {
  for (std::size_t i = 0; i < tensor.boxes.size(); ++i) {
    if (!tensor.boxes[i].are_disjoint) return true;
    for (std::size_t j = 0; j < i; ++j) {
      if (boxes_overlap(tensor.boxes[i].whole, tensor.boxes[j].whole)) return true;
    }
  }
  return false;
}

bool has_weights_only(const Manifest& manifest, const PieceIndex& pieces) {
  const StoredOptimizer& optimizer = manifest.state.optimizer;
  const bool keeps_no_state = !optimizer.name.empty() && optimizer.state_kinds.empty();
  return !keeps_no_state &&
         std::ranges::all_of(pieces.tensors(), [](const StoredTensor& t) { return t.kind == kind_weights; });
}

}  // namespace dt::checkpoint
