#include "bench/table/steps.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "bench/table/rows.hpp"
#include "model/flops.hpp"
#include "model/hf/hf_config.hpp"

namespace dt::table {

namespace {

using Json = nlohmann::json;

/// A folder with the model's config.json, removed at the end.
class Scratch {
 public:
  explicit Scratch(const model::ModelSpec& spec)
      : folder_(fs::temp_directory_path() / fmt::format("dt-bench-{}", ::getpid())) {
    fs::create_directories(folder_);
    write_file_atomically(config(), model::hf_config(spec));
  }
  Scratch(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(folder_); }

  std::string config() const { return folder_ / "config.json"; }
  std::string run() const { return folder_ / "run"; }

 private:
  fs::path folder_;
};

/// Returns the program's output lines that are JSON objects.
std::vector<Json> read_objects(Program& program) {
  std::vector<Json> list;
  while (const auto line = program.read()) {
    if (Json object = Json::parse(*line, nullptr, false); object.is_object())
      list.push_back(std::move(object));
  }
  return list;
}

/// Returns the number of steps after the first. Steps in fp32 take several times as long, and vary less.
int num_steps(DType precision) {
  return precision == DType::f32 ? 1 : 2;
}

}  // namespace

double Workload::work() const {
  const auto length = static_cast<double>(sequence);
  return model::flops_per_token(spec, 0) * static_cast<double>(tokens()) +
         7 * static_cast<double>(batch * spec.query_heads * spec.head_dim * spec.layers) * length * length;
}

Trained train(const DtTrain& tool, const Workload& workload, DType precision,
              const std::vector<std::string>& options) {
  const Scratch scratch(workload.spec);
  const std::string batch = std::to_string(workload.batch), length = std::to_string(workload.sequence);
  std::vector<std::string> words{tool.program, "--model", scratch.config(), "--data", tool.shards};
  words.insert(words.end(), {"--run", scratch.run(), "--json", "--quiet", "--resume", "never"});
  words.insert(words.end(), {"--precision", name_of(precision), "--peak-flops", "1e12"});
  words.insert(words.end(), {"--steps", std::to_string(1 + num_steps(precision))});
  words.insert(words.end(), {"--global-batch", batch, "--micro-batch", batch, "--sequence-length", length});
  words.insert(words.end(), options.begin(), options.end());
  Program program(words);
  Trained trained;
  for (const Json& line : read_objects(program)) {
    if (line.value("kind", "") == "train" && line.value("step", 0) > 1)
      trained.step_s = std::min(trained.step_s, line.at("step_s").get<double>());
  }
  trained.peak_bytes = program.finish();
  if (!std::isfinite(trained.step_s)) throw environment_error("{} reported no steps", tool.program);
  return trained;
}

std::vector<TorchMode> train_torch(const Torch& torch, const Workload& workload, DType precision) {
  const Scratch scratch(workload.spec);
  const std::string batch = std::to_string(workload.batch), length = std::to_string(workload.sequence);
  auto words = torch.command("torch_step.py");
  words.insert(words.end(), {"--model", scratch.config(), "--length", length, "--batch", batch});
  words.insert(words.end(), {"--steps", std::to_string(num_steps(precision)), "--modes"});
  words.push_back(precision == DType::f32 ? "compiled-fp32,eager-fp32"
                                          : "compiled-bf16,compiled-autocast,eager-bf16,eager-autocast");
  Program program(words);
  std::vector<TorchMode> modes;
  for (const Json& line : read_objects(program))
    modes.push_back({line.at("mode").get<std::string>(), line.at("step_s").get<double>()});
  program.finish();
  if (modes.empty()) throw environment_error("torch_step.py reported no steps");
  return modes;
}

}  // namespace dt::table
