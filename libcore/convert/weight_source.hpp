#pragma once
// Reads weights alone, from a checkpoint or a Hugging Face folder.

#include <filesystem>
#include <memory>
#include <string>

#include "model/model_spec.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::convert {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual const model::ModelSpec& spec() const = 0;
  /// Returns a note for the user on how the files were read; "" if there is none.
  virtual std::string remark() const { return {}; }
  /// Copies the part of a parameter that `wanted` names into `out`, converting the element type.
  virtual void read(const std::string& param, const Piece& wanted, const Tensor& out) const = 0;
};

/// Opens a folder of weights. With manifest.json it is a checkpoint, with config.json a Hugging Face
/// model (model.safetensors, or shards with model.safetensors.index.json).
/// Errors: input, naming the file, and the first tensor that is missing or of another shape.
std::unique_ptr<WeightSource> open_weights(const std::filesystem::path& path);

/// Opens the moving average of the weights in a checkpoint. Returns null if the checkpoint has none.
/// Errors: input.
std::unique_ptr<WeightSource> open_average(const std::filesystem::path& checkpoint);

}  // namespace dt::convert
