#pragma once
// The list of a checkpoint's digests and the file bytes that each covers. Writing, verification, repair
// and reading all use it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// Bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
};

/// The bytes of one file that one digest covers: a block of a piece's payload, or everything
/// outside pieces.
struct DigestedBytes {
  std::string where;  // "rank-00000.h5: weights of NAME", or the file's name
  std::string what;   // "bytes 4096 to 8192", "the bytes outside the tensors"
  std::vector<ByteRange> ranges;
  std::uint64_t digest = 0;
  std::uint64_t bytes() const;
};

/// Returns the bytes outside pieces: HDF5's own bytes, or the whole of a file without pieces.
DigestedBytes metadata_of(const StoredFile& file, std::span<const StoredPiece> pieces);
/// Returns every byte of a file: its pieces block by block, then the rest.
std::vector<DigestedBytes> digested_bytes(const StoredFile& file, std::span<const StoredPiece> pieces);
/// Returns every byte of an index file, given the digests of its blocks: the blocks, then the digests.
std::vector<DigestedBytes> digested_bytes(const StoredFile& index,
                                          std::span<const std::uint64_t> block_digests);

/// Returns the digests of the blocks of an index file.
/// Errors: input, environment.
std::vector<std::uint64_t> load_block_digests(const fs::path& path, const StoredFile& index);

/// Return the bytes of a file outside the given payloads, in file order.
std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::vector<ByteRange> payloads);
std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::span<const StoredPiece> pieces);
/// Returns one digest over all ranges, which are read in small parts.
/// Errors: input if the file is truncated.
std::uint64_t digest_ranges(const File& file, std::span<const ByteRange> ranges);

/// Returns the message that the bytes have the digest `actual` instead of the expected one.
std::string describe(const DigestedBytes& part, std::uint64_t actual);
/// Returns "" if the bytes have their digest, else what is wrong. Bytes that the device fails to
/// read count as wrong.
/// Errors: environment if the file cannot be read for another reason.
std::string why_damaged(const File& file, const DigestedBytes& part);

}  // namespace dt::checkpoint
