#pragma once
// One HDF5 file of pieces, which a writing rank adds to a checkpoint's folder, and the digests over
// all its bytes.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer.hpp"

namespace dt::checkpoint {

struct PieceFile {
  StoredFile file;
  std::vector<StoredPiece> pieces;  // in the order given, without empty pieces
};

/// Writes `folder`/`name`, with attributes that identify the state, and syncs it. Digests are
/// computed from the source's memory before it is written. `written` receives the number of payload
/// bytes as they are written.
/// Errors: environment.
/// After a crash: there is a file without the HDF5 signature, or none.
PieceFile write_piece_file(const fs::path& folder, const std::string& name, const Manifest& manifest,
                           std::span<const PieceSpec> pieces, const PayloadSource& source,
                           const std::function<void(std::uint64_t)>& written);

/// Bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Return the bytes of a file outside the given payloads, in file order.
std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::vector<ByteRange> payloads);
std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::span<const StoredPiece> pieces);
/// Returns one digest over all ranges, which are read in small parts.
/// Errors: input if the file is truncated.
std::uint64_t digest_ranges(const File& file, std::span<const ByteRange> ranges);

}  // namespace dt::checkpoint
