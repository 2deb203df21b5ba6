#include "convert/weight_source.hpp"

#include "base/error.hpp"
#include "checkpoint/reader.hpp"
#include "convert/hf_folder.hpp"

namespace dt::convert {

namespace {

class CheckpointWeights : public WeightSource {
 public:
  CheckpointWeights(const fs::path& path, const char* kind) : reader_(path), kind_(kind) {}
  const model::ModelSpec& spec() const override { return reader_.manifest().model; }
  void read(const std::string& param, const Piece& wanted, const Tensor& out) const override {
    reader_.read(kind_, param, wanted, out);
  }

 private:
  checkpoint::Reader reader_;
  const char* kind_;
};

}  // namespace

std::unique_ptr<WeightSource> open_weights(const std::filesystem::path& path) {
  if (!path_exists(path / checkpoint::manifest_name) && path_exists(path / "config.json")) {
    return std::make_unique<HfFolder>(path);
  }
  return std::make_unique<CheckpointWeights>(path, checkpoint::kind_weights);
}

std::unique_ptr<WeightSource> open_average(const std::filesystem::path& checkpoint) {
  if (!path_exists(checkpoint / checkpoint::manifest_name)) return nullptr;
  if (!checkpoint::load_manifest(checkpoint).state.optimizer.has_kind(kernels::average_kind)) return nullptr;
  return std::make_unique<CheckpointWeights>(checkpoint, kernels::average_kind);
}

}  // namespace dt::convert
