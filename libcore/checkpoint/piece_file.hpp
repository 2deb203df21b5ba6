#pragma once
// Writes rank-NNNNN.h5, the HDF5 file of one writer's pieces.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hdf5/hdf5_file.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer_manifest.hpp"

namespace dt::checkpoint {

/// A piece whose elements are produced while it is written.
struct PieceSpec {
  std::string tensor;
  std::string kind;
  Piece piece;
  DType dtype = DType::f32;
};

/// A file whose pieces are laid out and that waits for their payloads.
/// After a crash: there is a file without the HDF5 signature, or none.
class PieceFileWriter {
 public:
  /// Creates `folder`/rank-NNNNN.h5, with attributes that identify the state. NNNNN is `writer`. Makes no
  /// file if no piece holds an element.
  /// Errors: environment.
  PieceFileWriter(const fs::path& folder, const Manifest& header, int writer,
                  std::span<const PieceSpec> pieces);

  /// Digests and writes the next block of a piece's payload. The blocks of a piece (digest_block_bytes, the
  /// last may be short) come in order. `index` is the piece's in the given ones.
  void write_block(std::size_t index, std::span<const std::byte> block);
  /// Syncs the file. Returns the description of the file and its pieces, in the given order, without empty
  /// ones.
  WriterManifest close();

 private:
  struct Progress {
    std::size_t stored = 0;  // number among those that are not empty
    std::uint64_t offset = 0;
  };
  fs::path path_;
  WriterManifest result_;
  std::vector<Progress> progress_;  // by given piece
  std::optional<Hdf5Writer> file_;
};

}  // namespace dt::checkpoint
