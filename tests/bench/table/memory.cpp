#include <fmt/format.h>

#include "bench/table/report.hpp"
#include "bench/table/rows.hpp"
#include "model/parameter_table.hpp"

namespace dt::table {

namespace {

/// Returns the bytes by the usual formulas: states of the parameters, inputs of every block, and one
/// block's activations.
/// Source: Korthikanti et al. 2022, section 4; flash attention has no term in s².
double formula_bytes(const Workload& workload, DType precision) {
  const bool is_16_bit = precision != DType::f32;
  const auto parameters = static_cast<double>(model::ParameterTable(workload.spec).num_parameters());
  const auto sbh = static_cast<double>(workload.tokens() * workload.spec.hidden);
  const double width = is_16_bit ? 1 : 2;
  return (is_16_bit ? 18 : 16) * parameters +
         width * sbh * (2 * static_cast<double>(workload.spec.layers) + 34);
}

}  // namespace

void report_memory(const Tools& tools) {
  const Workload workload = gpt2_124m();
  title("Memory of training GPT-2 124M");
  for (const DType precision : {DType::f32, DType::bf16}) {
    const std::string what = fmt::format("peak memory ÷ formula, full recompute, {}", name_of(precision));
    if (!tools.train) {
      not_measured(what, "no dt-train is given");
      continue;
    }
    const double peak = train(*tools.train, workload, precision, {"--recompute", "full"}).peak_bytes;
    const double formula = formula_bytes(workload, precision);
    at_most(what, peak / formula, 1.10, fmt::format("{:.2f} of {:.2f} GB", peak * 1e-9, formula * 1e-9));
  }
}

}  // namespace dt::table
