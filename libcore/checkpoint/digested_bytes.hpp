#pragma once
// Which bytes of a checkpoint's files stand under which digest of its manifest: verifying, repairing and
// reading go by this one list.

#include <map>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece_file.hpp"

namespace dt::checkpoint {

/// Bytes of one file that one digest covers: a block of a piece's payload, or all that belongs to no piece.
struct DigestedBytes {
  std::string where;  // "rank-00000.h5: weights of NAME", or the file's name
  std::string what;   // "bytes 4096 to 8192", "the bytes outside the tensors"
  std::vector<ByteRange> ranges;
  std::uint64_t digest = 0;
  std::uint64_t bytes() const;
};

using PiecesByFile = std::map<std::string, std::vector<const StoredPiece*>>;
/// The manifest's pieces under their files' names, in its order; the manifest must outlive them.
PiecesByFile pieces_by_file(const Manifest& manifest);

/// What belongs to no piece: HDF5's own bytes, or a whole file that holds no pieces.
DigestedBytes metadata_of(const StoredFile& file, const std::vector<const StoredPiece*>& pieces);
/// Every byte of a file: its pieces block by block, then the rest.
std::vector<DigestedBytes> digested_bytes(const StoredFile& file,
                                          const std::vector<const StoredPiece*>& pieces);

/// That the bytes have another digest than theirs.
std::string describe(const DigestedBytes& part, std::uint64_t actual);
/// "" where the bytes have their digest, else what is wrong with them; bytes that the device fails to read
/// are wrong. Errors: environment, where the file cannot be read for another reason.
std::string why_damaged(const File& file, const DigestedBytes& part);

}  // namespace dt::checkpoint
