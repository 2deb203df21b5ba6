#pragma once
// One model from the pieces of a checkpoint, or the mean of several, streaming: memory is bounded by blocks,
// not by the model or its tensors, and reading and checking the next block overlaps with writing the last.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "interchange/export_source.hpp"

namespace dt::interchange {

/// Told the bytes of tensors as they go; called once more with 0 before the result gets its name. What it
/// throws ends the export, and nothing is left.
using BytesDone = std::function<void(std::uint64_t)>;

struct ExportOptions {
  std::optional<DType> dtype = std::nullopt;  // of the weights; none: as they are stored
  /// Weights beyond what `dtype` holds become its largest value; else they end the export.
  bool clamp = false;
  bool with_optimizer = false;  // Adam's moments too, as they are stored
  /// A Hugging Face folder's model is cut into files of at most so many bytes of tensors, a larger tensor
  /// into none but its own; 0: one file.
  std::uint64_t max_shard_bytes = 5'000'000'000;
  std::vector<fs::path> files = {};  // copied into a Hugging Face folder
  /// The token that ends the documents that the model learned from, where the caller knows better than the
  /// checkpoint.
  std::optional<std::int64_t> end_of_text = std::nullopt;
  bool overwrite = false;  // what is a model (or an empty file or folder), never anything else
};

/// What ExportOptions::clamp changed.
struct ClampCount {
  std::int64_t values = 0;
  std::int64_t tensors = 0;
};

struct ExportResult {
  std::int64_t num_tensors = 0;
  std::uint64_t bytes = 0;  // of tensors
  std::int64_t num_shards = 1;
  DType dtype = DType::f32;  // of the weights
  ClampCount clamped;
};

/// Bytes of tensors that an export will write.
std::uint64_t export_bytes(const ExportSource& source, const ExportOptions& options);

/// Returns `trained`, the special tokens of a checkpoint's model, with the ends of a text that an export
/// writes: those of the model's generation_config.json where it has some, else of `trained`, and among them
/// the end of the data's documents and, where `trained` has several, all of these.
model::SpecialTokens exported_ends(const model::SpecialTokens& trained,
                                   std::vector<std::int64_t> generation_ends,
                                   std::optional<std::int64_t> end_of_text);

/// The model that an export writes: the checkpoint's, with the ends of a text that its generation_config.json
/// names, where it keeps one, and options.end_of_text among them.
model::ModelSpec exported_model(const ExportSource& source, const ExportOptions& options);

/// A folder with config.json and model.safetensors (or shards and their index), as transformers'
/// from_pretrained takes it, and a generation_config.json that agrees with it; moments beside it, as
/// optimizer.safetensors. Appears only when whole and synced; a crash leaves at most a hidden sibling.
/// Errors: input, naming checkpoint and tensor, for what is missing or damaged, for finite values that
/// `dtype` cannot hold, and for a path that exists; environment.
ExportResult export_hf(const ExportSource& source, const fs::path& folder, const ExportOptions& options = {},
                       const BytesDone& done = {});
/// One HDF5 file: /parameters/<canonical name>, the attribute `config` (the Hugging Face config.json);
/// moments as /adam_m/… and /adam_v/…. Otherwise the same.
ExportResult export_h5(const ExportSource& source, const fs::path& file, const ExportOptions& options = {},
                       const BytesDone& done = {});

}  // namespace dt::interchange
