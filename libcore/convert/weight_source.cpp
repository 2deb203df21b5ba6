#include "convert/weight_source.hpp"

#include "base/error.hpp"
#include "checkpoint/reader.hpp"
#include "convert/hf_folder.hpp"

namespace dt::convert {

namespace {

class CheckpointWeights : public WeightSource {
 public:
  explicit CheckpointWeights(const fs::path& path) : reader_(path) {}
  const model::ModelSpec& spec() const override { return reader_.manifest().model; }
  void read(const std::string& param, const Piece& wanted, const Tensor& out) const override {
    reader_.read(checkpoint::kind_weights, param, wanted, out);
  }

 private:
  checkpoint::Reader reader_;
};

}  // namespace

std::unique_ptr<WeightSource> open_weights(const std::filesystem::path& path) {
  if (!path_exists(path / checkpoint::manifest_name) && path_exists(path / "config.json")) {
    return std::make_unique<HfFolder>(path);
  }
  return std::make_unique<CheckpointWeights>(path);
}

}  // namespace dt::convert
