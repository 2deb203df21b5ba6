#pragma once
// What a checkpoint says of itself: manifest.json. See FORMATS.md.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "tensor/piece.hpp"

namespace dt::checkpoint {

namespace fs = std::filesystem;

inline constexpr std::int64_t format_version = 1;

/// Which tensor of a parameter; also the HDF5 group that holds it.
inline constexpr const char* kind_weights = "weights";
inline constexpr const char* kind_first_moment = "adam_m";
inline constexpr const char* kind_second_moment = "adam_v";

/// Where a run stands. Everything that must be known to go on as if nothing had happened.
struct TrainingState {
  std::int64_t step = 0;               // optimizer steps done
  std::uint64_t samples_consumed = 0;  // position in the global order
  std::uint64_t tokens_consumed = 0;
  std::uint64_t data_digest = 0;  // of all samples consumed
  std::uint64_t seed = 0;
  std::int64_t sequence_length = 0;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  std::int64_t grad_lanes = 1;
  std::uint64_t dataset_digest = 0;
  std::string precision;           // "fp32"
  std::string matmul;              // what bf16 was multiplied in when the run last computed in it
  std::int64_t skipped_steps = 0;  // of `step`, those whose gradients were not finite, in fp16
  double loss_scale = 0;           // of the next step, in fp16; 0: the run has none
  std::int64_t loss_scale_good_steps = 0;
  std::string schedule;    // a JSON object: kind, lr, min_lr, warmup_steps, total_steps, ...
  std::string conditions;  // a JSON object: what bit-equality depends on (threads a rank, program, ...)
};

/// A piece as it lies in a file: a contiguous dataset, digested in blocks of digest_block_bytes.
struct StoredPiece {
  std::string tensor;  // parameter name
  std::string kind;
  DType dtype = DType::f32;
  Piece piece;
  std::string file;     // name within the checkpoint's folder
  std::string dataset;  // "/weights/layers.0.attention.q.weight"
  std::vector<std::uint64_t> digests;
  std::uint64_t offset = 0;  // of the payload in the file, in bytes, so that reading needs no HDF5
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(piece.numel()) * dtype_bytes(dtype); }
};

struct StoredFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t metadata_digest = 0;  // of every byte that belongs to no dataset's payload, in file order
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
  std::vector<StoredPiece> pieces;
};

/// The manifest's name in a checkpoint's folder.
inline constexpr const char* manifest_name = "manifest.json";

/// The manifest's member `state` as a JSON object.
std::string to_json(const TrainingState& state);
/// Text of manifest.json; its last member is the digest of all bytes before it.
std::string to_json(const Manifest& manifest);
/// Errors: input, naming file and member: a digest that differs, another format or version, missing members.
Manifest parse_manifest(const std::string& text, const std::string& origin);
/// Returns whether nothing is under the checkpoint's name. Asked after reading it has failed, it tells a
/// checkpoint that a living job has pruned from one that is damaged.
bool is_removed(const fs::path& checkpoint);
/// The error of reading one that was there and is removed.
Error removed_meanwhile(const fs::path& checkpoint);

/// Errors: those of parse_manifest; input where the folder is missing, is no checkpoint, or is a run
/// directory, or is removed while it is read; environment, as judge_read() has it.
Manifest load_manifest(const fs::path& checkpoint);

/// What a failure to read a file of the checkpoint means: where the device fails to read it (EIO) but reads
/// others of the folder, it is damaged, Error{input}; else the error as it is.
Error judge_read(const Error& error, const fs::path& checkpoint);

/// Whether the manifest is as it was written, by whatever version: where load_manifest refuses it all the
/// same, it is not damaged, but of a format that this dt does not read. Errors: environment.
bool is_manifest_whole(const fs::path& checkpoint);

}  // namespace dt::checkpoint
