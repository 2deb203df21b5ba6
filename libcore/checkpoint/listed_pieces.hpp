#pragma once
// The pieces that a manifest of version 1 lists.

#include <unordered_map>

#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

class ListedPieces : public PieceIndex {
 public:
  /// `manifest` must outlive the object.
  /// Errors: input if a tensor's pieces lie in more boxes than tensor parallelism can divide a tensor into.
  explicit ListedPieces(const Manifest& manifest);

  StoredPiece piece(std::uint64_t number) const override { return *pieces_.at(number); }
  /// Calls `use` in the manifest's order.
  void for_each(const StoredTensor& tensor,
                const std::function<void(const StoredPiece&)>& use) const override;
  /// Returns them in the manifest's order.
  std::vector<StoredPiece> of_file(std::size_t file) const override;
  bool has_pieces(std::size_t file) const override { return !by_file_[file].empty(); }
  /// Does nothing: parsing the manifest checks all pieces.
  void check() const override {}

 protected:
  std::pair<std::int64_t, std::int64_t> interval(std::uint64_t number) const override;

 private:
  using List = std::vector<const StoredPiece*>;
  void add_tensor(const List& listed);

  List pieces_;                                   // by number
  std::unordered_map<std::string, List> listed_;  // by "kind/tensor"
  std::vector<List> by_file_;
};

}  // namespace dt::checkpoint
