#pragma once
// Writes one model from the pieces of a checkpoint, or the mean of several, as a stream. Memory is
// bounded by blocks, not by the model or its tensors. Reading and checking the next block overlaps with
// writing the last.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/io/permissions.hpp"
#include "checkpoint/reader.hpp"
#include "model/parameter_scope.hpp"

namespace dt::convert {

namespace fs = std::filesystem;

/// The tensors that an export reads: those of one checkpoint, or the weighted mean of several.
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
  /// Returns the kinds of the optimizer's state, sorted.
  /// Errors: input if there is none.
  std::vector<std::string> state_kinds() const;
  /// Returns a kind of state by its name.
  kernels::StateKind kind_of(const std::string& name) const {
    return manifest().state.optimizer.find_kind(name);
  }
  /// Returns whether the optimizer keeps a kind of state for a parameter of the model.
  bool has_state(const model::ParameterTable& table, const std::string& kind, int param) const {
    return model::is_in_scope(table, param, kind_of(kind).scope);
  }
  /// Returns the whole of a tensor as pieces of at most digest_block_bytes each. The pieces are blocks
  /// of the first checkpoint, so that reading them all reads each of its blocks once.
  /// Errors: input, stored pieces that overlap or are not the whole tensor.
  std::vector<Piece> blocks(const std::string& kind, const std::string& tensor, const Shape& shape) const;
  /// Reads elements of a tensor as Reader::read() does, or their mean, rounded once.
  /// Errors: those of Reader::read().
  void read(const std::string& kind, const std::string& tensor, const Piece& wanted, const Tensor& out) const;

 private:
  const checkpoint::StoredTensor& stored(const std::string& kind, const std::string& tensor) const;

  std::vector<checkpoint::Reader> checkpoints_;
  std::vector<double> weights_;
};

/// Receives the number of tensor bytes of each block once its write is queued, and finally 0,
/// before the result gets its name. An exception from it ends the export, and nothing is left.
using BytesDone = std::function<void(std::uint64_t)>;

struct ExportOptions {
  std::optional<DType> dtype = std::nullopt;  // type of the weights; none: as stored
  /// Weights beyond the range of `dtype` become its largest value. Without `clamp` they end the export.
  bool clamp = false;
  bool with_optimizer = false;                     // export the optimizer's state, too, as stored
  std::string weights = checkpoint::kind_weights;  // the kind of state that is exported as weights
  /// Bytes of tensors that a file of a Hugging Face folder's model holds at most. A larger tensor has a
  /// file of its own. 0: one file.
  std::uint64_t max_shard_bytes = 5'000'000'000;
  std::vector<fs::path> files = {};  // copied into a Hugging Face folder
  /// The token that ends the documents that the model learned from, if the caller knows better than
  /// the checkpoint.
  std::optional<std::int64_t> end_of_text = std::nullopt;
  bool overwrite = false;  // replaces a model, or an empty file or folder, and never anything else
};

/// Counts values and tensors that ExportOptions::clamp changed.
struct ClampCount {
  std::int64_t values = 0;
  std::int64_t tensors = 0;
};

struct ExportResult {
  std::int64_t num_tensors = 0;
  std::uint64_t bytes = 0;  // tensors alone
  std::int64_t num_shards = 1;
  DType dtype = DType::f32;  // type of the weights
  ClampCount clamped;
};

/// Returns the bytes of tensors that an export will write.
std::uint64_t export_bytes(const ExportSource& source, const ExportOptions& options);

/// Returns `trained`, the special tokens of a checkpoint's model, with the end-of-text ids that an
/// export writes. These are the ids in the model's generation_config.json if it has some, else
/// those of `trained`. The end of the data's documents is among them. If `trained` has several ids,
/// all of them are, too.
model::SpecialTokens exported_special_tokens(const model::SpecialTokens& trained,
                                             std::vector<std::int64_t> generation_ends,
                                             std::optional<std::int64_t> end_of_text);

/// Returns the model that an export writes: the checkpoint's, with the end-of-text ids that its
/// generation_config.json names, if it keeps one. options.end_of_text is among them.
model::ModelSpec exported_model(const ExportSource& source, const ExportOptions& options);

/// Writes a folder with config.json and model.safetensors (or shards and their index), as transformers'
/// from_pretrained takes it. A generation_config.json that agrees with it is also there; the
/// optimizer's state goes to optimizer.safetensors. The folder appears only when it is whole and synced.
/// Errors: input, naming checkpoint and tensor: missing or damaged tensors, finite values that `dtype`
/// cannot hold, a path that exists; environment.
/// After a crash: at most a hidden sibling is left.
ExportResult export_hf(const ExportSource& source, const fs::path& folder, const ExportOptions& options = {},
                       const BytesDone& done = {});
/// Writes one HDF5 file with /parameters/<canonical name> and the attribute `config` (the Hugging Face
/// config.json). The optimizer's state is /KIND/<canonical name>, as /adam_m/…. All else is as in
/// export_hf().
ExportResult export_h5(const ExportSource& source, const fs::path& file, const ExportOptions& options = {},
                       const BytesDone& done = {});

}  // namespace dt::convert
