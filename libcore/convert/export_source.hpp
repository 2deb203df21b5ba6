#pragma once
// The tensors that an export reads: those of one checkpoint, or the weighted mean of several.

#include <map>
#include <string>
#include <vector>

#include "base/io/read_access.hpp"
#include "checkpoint/reader.hpp"

namespace dt::convert {

namespace fs = std::filesystem;

class ExportSource {
 public:
  /// Reads one checkpoint as it is.
  explicit ExportSource(const fs::path& checkpoint) : ExportSource({checkpoint}, {1}) {}
  /// Reads the weighted mean of several checkpoints: Σ wᵢxᵢ ÷ Σ wᵢ of each element. The weights, one
  /// per checkpoint, are finite and their sum is not 0.
  /// Numerics: adds in fp64, in the order of the checkpoints.
  /// Errors: input, naming the first tensor or setting in which a checkpoint differs from the first;
  /// those of Reader.
  ExportSource(const std::vector<fs::path>& checkpoints, std::vector<double> weights);

  /// Returns the last checkpoint, and its manifest.
  const checkpoint::Reader& newest() const { return checkpoints_.back(); }
  const checkpoint::Manifest& manifest() const { return newest().manifest(); }
  /// Returns the users that may read all checkpoints.
  ReadAccess readers() const;
  /// Returns the type in which the first checkpoint stores a tensor.
  /// Errors: input, a missing tensor.
  DType stored_dtype(const std::string& kind, const std::string& tensor) const;
  /// Returns whether elements of a tensor read as `dtype` may differ from the stored ones.
  bool changes_values(const std::string& kind, const std::string& tensor, DType dtype) const {
    return checkpoints_.size() > 1 || dtype != stored_dtype(kind, tensor);
  }
  /// Returns the whole of a tensor as pieces of at most digest_block_bytes each. The pieces are blocks
  /// of the first checkpoint, so that reading them all reads each of its blocks once.
  /// Errors: input, stored pieces that overlap or are not the whole tensor.
  std::vector<Piece> blocks(const std::string& kind, const std::string& tensor, const Shape& shape) const;
  /// Reads elements of a tensor as Reader::read() does, or their mean, rounded once.
  /// Errors: those of Reader::read().
  void read(const std::string& kind, const std::string& tensor, const Piece& wanted, const Tensor& out) const;

 private:
  const std::vector<const checkpoint::StoredPiece*>& pieces(const std::string& kind,
                                                            const std::string& tensor) const;

  std::vector<checkpoint::Reader> checkpoints_;
  std::vector<double> weights_;
  std::map<std::string, std::vector<const checkpoint::StoredPiece*>>
      pieces_;  // the first checkpoint's, by "kind/tensor"
};

}  // namespace dt::convert
