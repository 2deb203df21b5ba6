#pragma once
// A Hugging Face folder as dt's parameters: names, stacked and transposed tensors, one file or shards.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "checkpoint/weight_source.hpp"
#include "model/hf_names.hpp"

namespace dt::checkpoint {

class HfFolder : public WeightSource {
 public:
  /// Errors: input, naming the file and what is missing, of another shape or of a type that is no float.
  explicit HfFolder(const fs::path& folder);
  const model::ModelSpec& spec() const override { return spec_; }
  /// A transposed parameter is read whole: memory of its size is needed for the time of the call.
  void read(const std::string& param, const Piece& wanted, const Tensor& out) const override;

 private:
  /// Where a parameter lies: rows [row, row + shape[0]) of a stacked tensor.
  struct Place {
    const SafetensorsFile* file;
    const SafeTensor* tensor;
    Shape shape;
    std::int64_t row;
    bool transposed;
  };
  struct Found {
    const SafetensorsFile* file;
    const SafeTensor* tensor;
  };
  void open_files(const fs::path& folder);
  Found find(const model::HfTensor& wanted) const;
  void place(const model::HfTensor& wanted);
  std::vector<std::byte> read_transposed(const Place& place) const;

  fs::path folder_;
  model::ModelSpec spec_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Found> tensors_;  // by the file's names
  std::map<std::string, Place> places_;   // by dt's names
};

}  // namespace dt::checkpoint
