#pragma once
// The bytes of pieces.index. See FORMATS.md.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/numeric/dtype.hpp"
#include "checkpoint/digested_json.hpp"

namespace dt::checkpoint::index_format {

inline constexpr std::array<char, 8> magic = {'d', 't', 'p', 'i', 'e', 'c', 'e', 's'};
inline constexpr std::uint32_t version = 1;
/// A reader verifies only the blocks of the body that it touches.
inline constexpr std::uint64_t block_bytes = std::uint64_t{64} << 10;
/// Each section of the body begins on a multiple of this.
inline constexpr std::uint64_t section_alignment = 64;
inline constexpr std::uint64_t max_boxes_per_tensor = 4096;

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t num_files;
  std::uint32_t num_tensors;
  std::uint32_t num_boxes;
  std::uint64_t num_pieces;
  std::uint64_t num_digests;
  std::uint64_t name_bytes;
  std::int64_t step;  // the checkpoint's, as generation
  std::int64_t generation;
};

using Extents = std::array<std::int64_t, max_tensor_dims>;

/// A tensor of one kind. Its boxes end where those of the next begin.
struct TensorEntry {
  std::uint32_t name_begin;  // in the names, as kind_begin
  std::uint32_t name_bytes;
  std::uint32_t kind_begin;
  std::uint32_t kind_bytes;
  std::array<char, 8> dtype;  // "f32", filled up with zeros
  std::uint32_t rank;
  std::uint32_t first_box;
  std::uint64_t payload_bytes;  // sum over its pieces
  Extents global;
};

/// A box whose intervals are stored. Its pieces end where those of the next box begin.
struct BoxEntry {
  std::uint64_t first_piece;
  Extents start;
  Extents extents;
};

struct PieceEntry {
  std::int64_t begin;
  std::int64_t end;
  std::uint64_t offset;
  std::uint64_t digest;  // the payload's; if it has several blocks, the number of its first digest
  std::uint32_t box;
  std::uint32_t file;
  std::uint32_t part;  // K of the dataset's name
  std::uint32_t zero;
};

static_assert(sizeof(Header) == 64 && sizeof(TensorEntry) == 104 && sizeof(BoxEntry) == 136 &&
              sizeof(PieceEntry) == 48);

/// The beginnings of the body's sections, and its end.
struct Layout {
  std::uint64_t tensors, names, boxes, pieces, digests, by_file, file_starts, end;

  /// Returns none if the counts are those of no file.
  static std::optional<Layout> of(const Header& header);
  /// Returns the bytes of the whole file: of the body and of the digests of its blocks.
  std::uint64_t file_bytes() const;
};

/// Returns the number of blocks of a body.
std::uint64_t num_blocks(std::uint64_t body_bytes);
/// Returns the length of the body in a file of `file_bytes`, which may be of no index.
std::uint64_t body_bytes(std::uint64_t file_bytes);

}  // namespace dt::checkpoint::index_format
