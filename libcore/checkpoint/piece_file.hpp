#pragma once
// One HDF5 file of pieces: what a writing rank leaves in a checkpoint's folder, and how all its bytes are
// digested.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer.hpp"

namespace dt::checkpoint {

struct PieceFile {
  StoredFile file;
  std::vector<StoredPiece> pieces;  // in the order in which they were given; empty pieces are left out
};

/// Writes `folder`/`name`, with attributes that say which state it belongs to, and syncs it. Digests are
/// taken from the source's memory before it is written. `written` is told payload bytes as they go. Errors:
/// environment. A crash leaves a file without the HDF5 signature, or none.
PieceFile write_piece_file(const fs::path& folder, const std::string& name, const Manifest& manifest,
                           std::span<const PieceSpec> pieces, const PayloadSource& source,
                           const std::function<void(std::uint64_t)>& written);

/// Bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
};

/// The bytes of a file that belong to no piece's payload, in file order.
std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::span<const StoredPiece> pieces);
/// One digest over all ranges, read in small parts. Errors: input where the file is truncated.
std::uint64_t digest_ranges(const File& file, std::span<const ByteRange> ranges);

}  // namespace dt::checkpoint
