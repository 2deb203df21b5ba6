#pragma once
// The stored pieces of a checkpoint, arranged so that readers find those that they need without examining
// all. A manifest of version 1 lists them. Version 2 has an index file, of which only the parts that are
// asked for are read and verified.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// Pieces that are intervals of one box. They have consecutive numbers, in the order of their beginnings.
struct StoredBox {
  Piece whole;  // the box's whole interval
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool are_disjoint = true;
};

/// A tensor of one kind, as a checkpoint holds it.
struct StoredTensor {
  std::string tensor;
  std::string kind;
  DType dtype = DType::f32;
  Shape global;
  std::uint64_t payload_bytes = 0;  // sum over all pieces
  std::vector<StoredBox> boxes;

  std::uint64_t num_pieces() const;
};

/// Errors: input from every method that looks at pieces, naming the file: a damaged block of the index, a
/// piece outside its tensor or its file.
/// Thread safety: safe from several threads.
class PieceIndex {
 public:
  virtual ~PieceIndex() = default;
  PieceIndex() = default;
  PieceIndex(const PieceIndex&) = delete;

  /// Returns all tensors, in the order of their first pieces in files.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Returns null if the checkpoint does not hold the tensor.
  const StoredTensor* find(const std::string& kind, const std::string& tensor) const;
  std::uint64_t num_pieces() const;

  /// Returns numbers [first, second) of the box's pieces that may hold elements of `wanted`. Returns all
  /// numbers if the pieces are not disjoint.
  std::pair<std::uint64_t, std::uint64_t> find_intersecting(const StoredBox& box, const Piece& wanted) const;
  /// Returns the piece with this number.
  virtual StoredPiece piece(std::uint64_t number) const = 0;
  /// Calls `use` with each piece of a tensor.
  virtual void for_each(const StoredTensor& tensor, const std::function<void(const StoredPiece&)>& use) const;
  /// Returns the pieces in the file with this number in the manifest, disjoint.
  virtual std::vector<StoredPiece> of_file(std::size_t file) const = 0;
  virtual bool has_pieces(std::size_t file) const = 0;
  /// Checks all pieces: no byte of a file is of two pieces. Callers that write as much as the index says call
  /// it before.
  virtual void check() const = 0;

 protected:
  /// Returns a piece's interval of its box.
  virtual std::pair<std::int64_t, std::int64_t> interval(std::uint64_t number) const = 0;
  /// Adds a tensor. Returns false if it is there already.
  bool add(StoredTensor tensor);

 private:
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, std::size_t> numbers_;  // by "kind/tensor"
};

/// Opens the pieces of a checkpoint. `manifest` must outlive the index.
/// Errors: input, naming the index file if it is missing, damaged, of another size or of another checkpoint.
std::unique_ptr<const PieceIndex> open_pieces(const Manifest& manifest, const fs::path& checkpoint);
/// Parses the bytes of an index file, which may be damaged. Errors are those of open_pieces().
std::unique_ptr<const PieceIndex> parse_pieces(const Manifest& manifest, std::vector<std::byte> index);

/// Returns the name of a piece's dataset: "/weights/NAME", or "/weights/NAME@2" for the file's third part of
/// it.
std::string dataset_name(const std::string& kind, const std::string& tensor, const Piece& piece,
                         std::uint32_t part);

/// Returns the bytes of all pieces.
std::uint64_t stored_bytes(const PieceIndex& pieces);
/// Returns whether two of a tensor's pieces share an element, or two of its boxes overlap.
bool any_overlap(const StoredTensor& tensor);

/// Returns whether the checkpoint lacks optimizer state, as an imported one does. Training can
/// begin with it but cannot continue from it. That is not damage.
bool has_weights_only(const Manifest& manifest, const PieceIndex& pieces);

}  // namespace dt::checkpoint
