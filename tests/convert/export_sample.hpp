#pragma once
// Checkpoints for tests of exports, with values that every conversion rounds, cut into pieces in several
// ways.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/sample.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::convert::test {

/// Returns a value that is a third. No floating-point type holds thirds exactly, so every conversion
/// rounds.
inline float value_of(std::size_t param, std::int64_t element, int salt) {
  return static_cast<float>(
      (1000.0 * static_cast<double>(param) + static_cast<double>(element) + 0.125 * salt) / 3);
}

inline int salt_of(const std::string& kind, int salt) {
  return salt + (kind == checkpoint::kind_weights ? 0 : kind == checkpoint::kind_first_moment ? 1 : 2);
}

/// A function that cuts a parameter into pieces, which hold every element once.
using Cut = std::function<std::vector<Piece>(const Shape&)>;
inline std::vector<Piece> uncut(const Shape& shape) {
  return {Piece::whole(shape)};
}
/// Cuts in thirds wherever they fall, as ZeRO does.
inline std::vector<Piece> in_thirds(const Shape& shape) {
  std::vector<Piece> pieces(3, Piece::whole(shape));
  pieces[0].end = pieces[1].begin = shape.numel() / 3;
  pieces[1].end = pieces[2].begin = shape.numel() * 2 / 3;
  return pieces;
}
/// Cuts by columns, unevenly, as tensor parallelism does, and each box in two.
inline std::vector<Piece> in_boxes(const Shape& shape) {
  const int dim = shape.rank() - 1;
  const std::int64_t border = shape[dim] / 3;
  std::vector<Piece> pieces;
  for (const auto& [start, extent] :
       {std::pair{std::int64_t{0}, border}, std::pair{border, shape[dim] - border}}) {
    std::vector<std::int64_t> box(shape.dims());
    box[static_cast<std::size_t>(dim)] = extent;
    Piece piece = Piece::whole(shape);
    piece.start[static_cast<std::size_t>(dim)] = start;
    piece.box = Shape(box);
    const std::int64_t numel = piece.box.numel();
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, numel / 2}, std::pair{numel / 2, numel}}) {
      pieces.push_back(piece);
      pieces.back().begin = begin;
      pieces.back().end = end;
    }
  }
  return pieces;
}

struct Sample {
  model::ModelSpec spec = checkpoint::test::tiny_gpt2();
  std::vector<std::string> kinds = {checkpoint::kind_weights};
  Cut cut = uncut;
  int salt = 0;
  std::int64_t step = 10;
};

inline fs::path write(const fs::path& folder, const Sample& sample) {
  std::vector<std::vector<float>> memory;
  std::vector<checkpoint::SourcePiece> pieces;
  const model::ParameterTable table(sample.spec);
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    for (const std::string& kind : sample.kinds) {
      for (const Piece& piece : sample.cut(table.params()[p].shape)) {
        std::vector<float>& values = memory.emplace_back(static_cast<std::size_t>(piece.numel()) + 1);
        for (std::int64_t i = 0; i < piece.numel(); ++i) {
          values[static_cast<std::size_t>(i)] =
              value_of(p, checkpoint::test::global_index(piece, i), salt_of(kind, sample.salt));
        }
        pieces.push_back({table.params()[p].name, kind, piece, host_tensor(values).flat(0, piece.numel())});
      }
    }
  }
  checkpoint::Manifest manifest = checkpoint::test::sample_manifest(sample.step);
  manifest.model = sample.spec;
  return checkpoint::test::write_checkpoint(folder, manifest, pieces);
}

inline const std::vector<std::string> all_kinds = {checkpoint::kind_weights, checkpoint::kind_first_moment,
                                                   checkpoint::kind_second_moment};

}  // namespace dt::convert::test
