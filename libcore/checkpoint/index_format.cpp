#include "checkpoint/index_format.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"

namespace dt::checkpoint::index_format {

std::uint64_t num_blocks(std::uint64_t body_bytes) {
  return ceil_div(body_bytes, block_bytes);
}

std::uint64_t body_bytes(std::uint64_t file_bytes) {
  const std::uint64_t blocks = ceil_div(file_bytes, block_bytes + sizeof(std::uint64_t));
  return file_bytes - std::min(file_bytes, blocks * sizeof(std::uint64_t));
}

std::optional<Layout> Layout::of(const Header& h) {
  // Sums of a few sections below this do not overflow.
  constexpr std::uint64_t most_items = max_stored_bytes / sizeof(TensorEntry);
  if (h.num_pieces > UINT32_MAX || h.num_digests > most_items || h.name_bytes > most_items)
    return std::nullopt;
  std::uint64_t at = sizeof(Header);
  const auto section = [&](std::uint64_t count, std::uint64_t item_bytes) {
    const std::uint64_t begin = round_up(at, section_alignment);
    at = begin + count * item_bytes;
    return begin;
  };
  Layout layout{};
  layout.tensors = section(h.num_tensors, sizeof(TensorEntry));
  layout.names = section(h.name_bytes, 1);
  layout.boxes = section(h.num_boxes, sizeof(BoxEntry));
  layout.pieces = section(h.num_pieces, sizeof(PieceEntry));
  layout.digests = section(h.num_digests, sizeof(std::uint64_t));
  layout.by_file = section(h.num_pieces, sizeof(std::uint32_t));
  layout.file_starts = section(std::uint64_t{h.num_files} + 1, sizeof(std::uint32_t));
  layout.end = at;
  return layout;
}

std::uint64_t Layout::file_bytes() const {
  return end + num_blocks(end) * sizeof(std::uint64_t);
}

}  // namespace dt::checkpoint::index_format
