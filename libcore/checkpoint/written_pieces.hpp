#pragma once
// Collects what the writers of a checkpoint have written, for the manifest or its index.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "checkpoint/index_format.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer_manifest.hpp"

namespace dt::checkpoint {

/// The files and pieces of several writers, in the order in which they were added.
/// Memory: 48 bytes a piece, beside files, and each tensor and box once.
class WrittenPieces {
 public:
  /// Errors: input for a dataset whose name is not that of its piece; internal for more than 2³² pieces.
  void add(const WriterManifest& shard);
  /// Adds what message() of another object returned.
  void add(std::span<const std::byte> message);
  /// Returns the files and pieces as a message to another rank.
  std::vector<std::byte> message() const;

  /// Puts the files into the order of their writers, and the pieces into that of the files.
  void sort_files();
  const std::vector<StoredFile>& files() const { return files_; }
  std::size_t num_pieces() const { return pieces_.size(); }
  /// Returns the pieces as a manifest of version 1 lists them.
  std::vector<StoredPiece> list() const;
  /// Returns the bytes of the index file of a checkpoint with this manifest, whose first files are files().
  /// `index` receives its size and digest.
  /// Errors: input, naming a tensor of which two pieces have another type or shape.
  std::vector<std::byte> index_file(const Manifest& manifest, StoredFile& index) const;

 private:
  class IndexComposer;
  struct Tensor {
    std::string tensor, kind;
    DType dtype;
    Shape global;
    auto operator<=>(const Tensor& other) const {
      return std::tie(tensor, kind, dtype, global.dims()) <=>
             std::tie(other.tensor, other.kind, other.dtype, other.global.dims());
    }
  };
  struct Box {
    std::uint32_t tensor;
    index_format::Extents start;
    index_format::Extents extents;
    auto operator<=>(const Box&) const = default;
  };

  std::uint32_t number_of(const Tensor& tensor);
  std::uint32_t number_of(const Box& box);
  void append(index_format::PieceEntry entry);
  StoredPiece piece(const index_format::PieceEntry& entry) const;
  std::vector<std::uint32_t> sorted_boxes() const;
  std::vector<std::uint32_t> sorted_pieces(std::span<const std::uint32_t> box_order) const;
  std::uint64_t payload_bytes(const index_format::PieceEntry& entry) const;

  std::vector<StoredFile> files_;
  std::vector<Tensor> tensors_;
  std::map<Tensor, std::uint32_t> tensor_numbers_;
  std::vector<Box> boxes_;
  std::map<Box, std::uint32_t> box_numbers_;
  std::vector<index_format::PieceEntry> pieces_;  // boxes and files by their numbers here
  std::vector<std::uint64_t> digests_;
};

/// Returns the bytes of an index file: the body, and the digests of its blocks. `index` receives size and
/// digest.
std::vector<std::byte> seal_index(std::vector<std::byte> body, StoredFile& index);

}  // namespace dt::checkpoint
