#pragma once
// The manifest of a checkpoint, manifest.json. See FORMATS.md.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/dtype.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "kernels/state_kind.hpp"
#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "tensor/piece.hpp"

namespace dt::checkpoint {

namespace fs = std::filesystem;

/// Versions of manifest.json. Version 1 lists the pieces. Version 2 leaves them to an index file, which
/// readers map and search; it is for checkpoints of many files.
inline constexpr std::int64_t version_with_list = 1, version_with_index = 2;
/// The most files of a checkpoint whose manifest lists the pieces, unless the writer is told otherwise.
inline constexpr std::size_t default_max_files_with_list = 256;

/// Kinds of tensors of a parameter. Each is also the name of the HDF5 group that holds them. The
/// kinds of an optimizer's state are in its row of optim/optimizer.cpp; these are AdamW's.
inline constexpr const char* kind_weights = "weights";
inline constexpr const char* kind_first_moment = "adam_m";
inline constexpr const char* kind_second_moment = "adam_v";

/// The optimizer that made the steps.
struct StoredOptimizer {
  std::string name;                             // "adamw"; empty if there were none
  std::vector<kernels::StateKind> state_kinds;  // kept beside the weights
  std::string hyper_parameters;                 // a JSON object

  /// Returns a kind of state by its name. Weights, and kinds that the manifest does not name, belong to all
  /// parameters and have their shape.
  kernels::StateKind find_kind(const std::string& name) const;
  bool has_kind(const std::string& name) const;
};

/// The state of a run beside its tensors: everything needed to continue as if uninterrupted.
struct TrainingState {
  std::int64_t step = 0;               // optimizer steps completed
  std::uint64_t samples_consumed = 0;  // position in the global order
  std::uint64_t tokens_consumed = 0;
  std::uint64_t data_digest = 0;  // digest over all samples consumed
  std::uint64_t seed = 0;
  std::int64_t sequence_length = 0;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  std::int64_t grad_lanes = 1;
  std::uint64_t dataset_digest = 0;
  std::string precision;           // "fp32"
  std::string matmul;              // the type in which bf16 was multiplied when the run last computed in bf16
  std::int64_t skipped_steps = 0;  // steps among `step` with non-finite gradients, in fp16
  double loss_scale = 0;           // for the next step, in fp16; 0 if the run has none
  std::int64_t loss_scale_good_steps = 0;
  StoredOptimizer optimizer;
  std::string schedule;    // a JSON object: kind, lr, min_lr, warmup_steps, total_steps, ...
  std::string conditions;  // a JSON object of conditions for bit-equality (threads a rank, program, ...)
};

/// A piece as stored in a file: a contiguous dataset, digested in blocks of digest_block_bytes.
struct StoredPiece {
  std::string tensor;  // parameter name
  std::string kind;
  DType dtype = DType::f32;
  Piece piece;
  std::string file;     // name within the checkpoint's folder
  std::string dataset;  // "/weights/layers.0.attention.q.weight"
  std::vector<std::uint64_t> digests;
  std::uint64_t offset = 0;  // payload's offset in the file, in bytes, so that reading needs no HDF5
  std::uint64_t bytes() const { return storage_bytes(dtype, piece.numel()); }
};

struct StoredFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t metadata_digest = 0;  // over all bytes outside datasets' payloads, in file order
};

struct Manifest {
  TrainingState state;
  model::ModelSpec model;
  model::Layout mesh;
  std::int64_t generation = 0;
  std::string parent;   // name of the checkpoint that this generation continued from, or ""
  std::string created;  // UTC
  std::string dt_version;
  std::vector<StoredFile> files;
  std::vector<StoredPiece> pieces;  // version 1; readers take them from a PieceIndex
  /// Version 2: the file that holds the pieces. It is not among `files`. Its digest is that of its table of
  /// block digests.
  std::optional<StoredFile> index;

  std::int64_t version() const { return index ? version_with_index : version_with_list; }
};

/// The manifest's name in a checkpoint's folder.
inline constexpr const char* manifest_name = "manifest.json";
/// The name of the file of pieces that a manifest of version 2 goes with.
inline constexpr const char* index_name = "pieces.index";

/// Returns the manifest's member `mesh`, the layout that wrote the checkpoint, as a JSON object.
std::string to_json(const model::Layout& layout);
/// Returns the manifest's member `state` as a JSON object.
std::string to_json(const TrainingState& state);
/// Returns the text of manifest.json, of the manifest's version. Its last member is the digest of all bytes
/// before it.
std::string to_json(const Manifest& manifest);
/// Parses a manifest of either version.
/// Errors: input, naming file and member: a digest that differs, another format or version, missing
/// members.
Manifest parse_manifest(const std::string& text, const std::string& origin);
/// Returns whether nothing has the checkpoint's name. After a failed read, this distinguishes a
/// checkpoint that a running job has pruned from a damaged one.
bool is_removed(const fs::path& checkpoint);
/// Returns the error about a checkpoint that was removed while it was read.
Error removed_error(const fs::path& checkpoint);

/// Loads a checkpoint's manifest.
/// Errors: as parse_manifest(). Input if the folder is missing, is not a checkpoint, is a run
/// directory, or is removed during the call. For a failed read, as classify_read_error() says.
Manifest load_manifest(const fs::path& checkpoint);

/// Returns the meaning of a failure to read a file of the checkpoint. If the device fails to read
/// it (EIO) but reads other files of the folder, the file is damaged: an input error. Otherwise
/// returns `error` unchanged.
Error classify_read_error(const Error& error, const fs::path& checkpoint);

/// Returns whether the manifest is as it was written, by any version of dt. If load_manifest()
/// rejects such a manifest, it is not damaged, but of a format that this dt does not read.
/// Errors: environment.
bool is_manifest_intact(const fs::path& checkpoint);

}  // namespace dt::checkpoint
