#include "bench/table/torch_kernels.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/table/rows.hpp"

namespace dt::table {

using Json = nlohmann::json;

TorchKernels::TorchKernels(const Torch& torch) : program_(torch.command("torch_kernels.py")) {
  version_ = Json::parse(answer()).at("torch").get<std::string>();
}

double TorchKernels::product_s(Pass pass, DType dtype, std::int64_t rows, std::int64_t outputs,
                               std::int64_t inputs) {
  const std::string request =
      fmt::format("{} {} {} {} {}", pass_name(pass), name_of(dtype), rows, outputs, inputs);
  return Json::parse(ask(request)).at("seconds").get<double>();
}

AttentionSeconds TorchKernels::attention_s(DType dtype, const kernels::AttentionShape& s) {
  const std::string request = fmt::format("attention {} {} {} {} {} {}", name_of(dtype), s.batch, s.sequence,
                                          s.query_heads, s.key_value_heads, s.head_dim);
  const Json seconds = Json::parse(ask(request));
  return {seconds.at("forward").get<double>(), seconds.at("backward").get<double>()};
}

std::string TorchKernels::ask(const std::string& line) {
  program_.write(line);
  return answer();
}

std::string TorchKernels::answer() {
  if (auto line = program_.read()) return *std::move(line);
  program_.finish();
  throw environment_error("torch_kernels.py ended before its answer");
}

}  // namespace dt::table
