#pragma once
// Small checkpoints for tests, and folders that are removed at the end of the test.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/test_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/share.hpp"
#include "checkpoint/writer.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "support/write_checkpoint.hpp"

namespace dt::checkpoint::test {

using TempFolder = dt_test::Folder;

/// Returns the message of the Error of kind `kind` that `action` throws; "" if it throws none.
template <class Action>
std::string error_of(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind() == kind ? error.message() : "of another kind: " + error.message();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline model::ModelSpec tiny_gpt2() {
  model::ModelSpec s = model::load_model_spec("gpt2-124m");
  s.vocabulary = 7;
  s.layers = 1;
  s.hidden = 4;
  s.query_heads = s.key_value_heads = 2;
  s.head_dim = 2;
  s.mlp_hidden = 6;
  s.max_positions = 3;
  s.special = {6, {6}, {}};
  return s;
}

inline Manifest sample_manifest(std::int64_t step = 10, std::int64_t generation = 1) {
  Manifest m;
  m.state.step = step;
  m.state.samples_consumed = 80;
  m.state.tokens_consumed = 80 * 32;
  m.state.data_digest = 0xfedcba9876543210;
  m.state.seed = 1234567890123456789;
  m.state.sequence_length = 32;
  m.state.global_batch = 8;
  m.state.micro_batch = 2;
  m.state.grad_lanes = 4;
  m.state.dataset_digest = 7;
  m.state.precision = "fp32";
  m.state.matmul = "bf16";
  m.state.skipped_steps = std::min<std::int64_t>(3, step);
  m.state.loss_scale = 4096;
  m.state.loss_scale_good_steps = 17;
  m.state.schedule = R"({"kind":"cosine","lr":0.0003,"min_lr":3e-05})";
  m.state.conditions = R"({"threads":2})";
  m.model = tiny_gpt2();
  m.mesh = {1, 2, 1, 1};
  m.generation = generation;
  return m;
}

/// Pieces and the memory that they view.
struct Pieces {
  std::vector<SourcePiece> list;
  std::vector<std::shared_ptr<std::vector<double>>> doubles;
  std::vector<std::shared_ptr<std::vector<float>>> floats;

  /// Adds a piece in which element e of the global tensor has the value `first` + e.
  void add(const std::string& kind, const std::string& tensor, const Piece& piece, DType dtype, double first);
};

/// Returns the row-major index, in the global tensor, of element `i` of a piece; found by counting.
inline std::int64_t global_index(const Piece& piece, std::int64_t i) {
  std::int64_t rest = piece.begin + i;
  std::int64_t index = 0;
  std::int64_t stride = 1;
  for (int d = piece.global.rank() - 1; d >= 0; --d) {
    index += (piece.start[static_cast<std::size_t>(d)] + rest % piece.box[d]) * stride;
    rest /= piece.box[d];
    stride *= piece.global[d];
  }
  return index;
}

inline void Pieces::add(const std::string& kind, const std::string& tensor, const Piece& piece, DType dtype,
                        double first) {
  const auto count = static_cast<std::size_t>(piece.numel());
  const auto value = [&](std::size_t i) {
    return first + static_cast<double>(global_index(piece, static_cast<std::int64_t>(i)));
  };
  void* data = nullptr;
  if (dtype == DType::f64) {
    doubles.push_back(std::make_shared<std::vector<double>>(count + 1));
    for (std::size_t i = 0; i < count; ++i) (*doubles.back())[i] = value(i);
    data = doubles.back()->data();
  } else {
    floats.push_back(std::make_shared<std::vector<float>>(count + 1));
    for (std::size_t i = 0; i < count; ++i) (*floats.back())[i] = static_cast<float>(value(i));
    data = floats.back()->data();
  }
  list.push_back({tensor, kind, piece, Tensor(data, dtype, Shape{piece.numel()}, Device::host())});
}

/// Returns all parameters of a model, whole; element e of the n-th has the value 1000·n + e.
inline Pieces model_pieces(const model::ModelSpec& spec, DType dtype = DType::f32,
                           const std::vector<std::string>& kinds = {kind_weights}) {
  Pieces pieces;
  const model::ParameterTable table(spec);
  double first = 0;
  for (const model::ParamSpec& param : table.params()) {
    for (const std::string& kind : kinds)
      pieces.add(kind, param.name, Piece::whole(param.shape), dtype, first);
    first += 1000;
  }
  return pieces;
}

/// Divides `pieces` among writers that write at once, a thread each, and commits.
/// Errors: throws the first writer's error instead of committing.
inline fs::path write_by(int num_writers, const fs::path& folder, const Manifest& manifest,
                         std::span<const SourcePiece> pieces,
                         std::size_t max_files_with_list = default_max_files_with_list) {
  CheckpointTransaction unfinished(folder, manifest.state.step, manifest.generation);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(num_writers));
  std::vector<std::thread> threads;
  for (int writer = 0; writer < num_writers; ++writer) {
    threads.emplace_back([&, writer] {
      try {
        write_shard(unfinished.path(), manifest, writer, share_of(pieces, writer, num_writers));
      } catch (...) {
        errors[static_cast<std::size_t>(writer)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return unfinished.commit(manifest, num_writers,
                           {.timeout_s = 0, .max_files_with_list = max_files_with_list});
}

/// Writes a checkpoint of one small tensor.
inline fs::path write_small(const fs::path& folder, std::int64_t step = 10, std::int64_t generation = 1,
                            const std::string& parent = "") {
  Pieces pieces;
  pieces.add(kind_weights, "a", Piece::whole({2, 3}), DType::f32, 0);
  pieces.add(kind_first_moment, "a", Piece::whole({2, 3}), DType::f32, 100);
  Manifest manifest = sample_manifest(step, generation);
  manifest.parent = parent;
  return write_checkpoint(folder, manifest, pieces.list);
}

inline void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
}

}  // namespace dt::checkpoint::test
