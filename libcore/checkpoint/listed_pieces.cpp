#include "checkpoint/listed_pieces.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "checkpoint/index_format.hpp"

namespace dt::checkpoint {

namespace {

bool are_in_one_box(const Piece& a, const Piece& b) {
  return a.start == b.start && a.box == b.box && a.global == b.global;
}

bool is_before(const StoredPiece* a, const StoredPiece* b) {
  const Piece &x = a->piece, &y = b->piece;
  if (x.global != y.global) return x.global.dims() < y.global.dims();
  if (x.start != y.start) return x.start < y.start;
  if (x.box != y.box) return x.box.dims() < y.box.dims();
  return x.begin != y.begin ? x.begin < y.begin : x.end < y.end;
}

std::string key_of(const std::string& kind, const std::string& tensor) {
  return kind + "/" + tensor;
}

}  // namespace

ListedPieces::ListedPieces(const Manifest& manifest) : by_file_(manifest.files.size()) {
  std::unordered_map<std::string, std::size_t> files;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) files[manifest.files[i].name] = i;
  std::vector<std::string> order;
  for (const StoredPiece& piece : manifest.pieces) {
    if (const auto file = files.find(piece.file); file != files.end())
      by_file_[file->second].push_back(&piece);
    List& listed = listed_[key_of(piece.kind, piece.tensor)];
    if (listed.empty()) order.push_back(key_of(piece.kind, piece.tensor));
    listed.push_back(&piece);
  }
  for (const std::string& key : order) add_tensor(listed_.at(key));
}

void ListedPieces::add_tensor(const List& listed) {
  const StoredPiece& front = *listed.front();
  StoredTensor tensor{front.tensor, front.kind, front.dtype, front.piece.global, 0, {}};
  List sorted = listed;
  std::sort(sorted.begin(), sorted.end(), is_before);
  for (const StoredPiece* piece : sorted) {
    if (tensor.boxes.empty() || !are_in_one_box(tensor.boxes.back().whole, piece->piece)) {
      if (tensor.boxes.size() == index_format::max_boxes_per_tensor)
        throw input_error("{} of {}: its stored pieces lie in more than {} boxes", piece->kind, piece->tensor,
                          index_format::max_boxes_per_tensor);
      tensor.boxes.push_back({piece->piece, pieces_.size(), 0, true});
      tensor.boxes.back().whole.begin = 0;
      tensor.boxes.back().whole.end = piece->piece.box.numel();
    } else if (pieces_.back()->piece.end > piece->piece.begin) {
      tensor.boxes.back().are_disjoint = false;
    }
    ++tensor.boxes.back().count;
    tensor.payload_bytes += piece->bytes();
    pieces_.push_back(piece);
  }
  add(std::move(tensor));
}

void ListedPieces::for_each(const StoredTensor& tensor,
                            const std::function<void(const StoredPiece&)>& use) const {
  for (const StoredPiece* piece : listed_.at(key_of(tensor.kind, tensor.tensor))) use(*piece);
}

std::vector<StoredPiece> ListedPieces::of_file(std::size_t file) const {
  std::vector<StoredPiece> pieces;
  for (const StoredPiece* piece : by_file_.at(file)) pieces.push_back(*piece);
  return pieces;
}

std::pair<std::int64_t, std::int64_t> ListedPieces::interval(std::uint64_t number) const {
  return {pieces_[number]->piece.begin, pieces_[number]->piece.end};
}

}  // namespace dt::checkpoint
