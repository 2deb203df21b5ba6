#pragma once
// Reads a Hugging Face folder as dt's parameters: names, stacked and transposed tensors, one file or
// shards.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/io/permissions.hpp"
#include "convert/safetensors.hpp"
#include "convert/weight_source.hpp"
#include "model/hf/hf_names.hpp"
#include "model/parameter_table.hpp"

namespace dt::convert {

class HfFolder : public WeightSource {
 public:
  /// Errors: input, naming the file: a tensor that is missing, of another shape or of a type that is no
  /// float.
  explicit HfFolder(const fs::path& folder);
  const fs::path& path() const { return folder_; }
  /// Returns the model of config.json, with the end-of-text ids that generation_config.json names
  /// if there is one. The model is untied if config.json ties the head to the embedding, but the
  /// files hold a head of other values. transformers 5 keeps such a head.
  const model::ModelSpec& spec() const override { return spec_; }
  std::string remark() const override { return remark_; }
  /// Returns the type in which a parameter is stored.
  DType dtype(const std::string& param) const { return *location_of(param).tensor->dtype; }
  /// Returns the users that may read the folder and all its weights.
  ReadAccess readers() const;
  /// Reads part of a parameter. If it is stored transposed, the rows that `wanted` touches take memory
  /// for the time of the call.
  void read(const std::string& param, const Piece& wanted, const Tensor& out) const override;

 private:
  /// The place of a parameter: rows of a stacked tensor.
  struct ParameterLocation {
    const SafetensorsFile* file;
    const SafeTensor* tensor;
    Shape shape;
    model::StackedRows rows;
    bool transposed;
  };
  struct FileTensor {
    const SafetensorsFile* file;
    const SafeTensor* tensor;
  };
  void open_files(const fs::path& folder);
  void read_end_of_text();
  void untie_where_heads_differ();
  const FileTensor* find_named(const model::HfTensor& wanted) const;
  FileTensor find(const model::HfTensor& wanted) const;
  void locate(const model::HfTensor& wanted, const model::ParameterTable& table);
  const ParameterLocation& location_of(const std::string& param) const;
  std::vector<std::byte> read_transposed(const ParameterLocation& place, std::int64_t first_row,
                                         std::int64_t num_rows) const;

  fs::path folder_;
  model::ModelSpec spec_;
  std::string remark_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, FileTensor> tensors_;           // by the file's names
  std::map<std::string, ParameterLocation> locations_;  // by dt's names
};

}  // namespace dt::convert
