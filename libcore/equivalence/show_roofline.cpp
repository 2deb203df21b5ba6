#include "equivalence/show_roofline.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text/text.hpp"
#include "parallel/schedule/drawing/drawing.hpp"
#include "plan/time/roofline_step.hpp"

namespace dt::equivalence {

namespace {

using Json = nlohmann::ordered_json;
using plan::GpuRates, plan::Operation, plan::OperationKind, plan::StepRoofline, plan::KernelFeatures;

struct Trait {
  const char* key;  // in the JSON
  const char* title;
  KernelFeatures without;
};
const std::array<Trait, 4> traits = {
    {{"whole 16 bytes of columns in the head's products (at most)",
      "16-byte alignment of the head's matrix products (upper bound)",
      {.aligned_head = false}},
     {"a block of cross-entropy for each row",
      "one thread block per row in cross-entropy",
      {.block_per_row = false}},
     {"all rows of the MLP's backward at once",
      "MLP backward over all rows at once",
      {.whole_mlp_backward = false}},
     {"kernels that memory bounds, bias gradients by products",
      "few instructions in memory-bound kernels, bias gradients by matrix products",
      {.few_instructions = false}}}};

/// Returns "32768 x 2304 x 768: 24 waves, 98 % filled" or "100.7 MB".
std::string shape_text(const Operation& operation, const GpuRates& rates) {
  if (operation.kind == OperationKind::matmul) {
    const plan::MatmulTiling shape = matmul_tiling(operation, rates);
    return fmt::format("{} x {} x {}: {} wave{}, {:.0f} % filled{}", operation.M, operation.N, operation.K,
                       shape.waves, shape.waves == 1 ? "" : "s", 100 * shape.wave_efficiency,
                       operation.is_aligned ? "" : ", not aligned");
  }
  if (operation.kind == OperationKind::attention) return fmt::format("{:.3g} FLOP", operation.flops);
  return format_bytes(static_cast<std::uint64_t>(operation.bytes));
}

void print_operations(const StepRoofline& roofline, const GpuRates& rates, Console& console) {
  std::vector<Operation> sorted = roofline.operations;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Operation& a, const Operation& b) {
    return seconds_of(a, rates) > seconds_of(b, rates);
  });
  std::vector<std::vector<std::string>> rows{{"operation", "calls", "time/call", "total", "of step", "size"}};
  for (const Operation& operation : sorted) {
    const double seconds = seconds_of(operation, rates);
    rows.push_back({operation.name, fmt::format("{:.0f}", operation.count),
                    parallel::format_short_time(seconds_per_call(operation, rates)),
                    parallel::format_short_time(seconds),
                    fmt::format("{:.1f} %", 100 * seconds / roofline.step_s), shape_text(operation, rates)});
  }
  console.print("\n{}", format_table(rows));
}

double seconds_of_kind(const StepRoofline& roofline, const GpuRates& rates, OperationKind kind) {
  double seconds = 0;
  for (const Operation& operation : roofline.operations) {
    if (operation.kind == kind) seconds += seconds_of(operation, rates);
  }
  return seconds;
}

/// Returns the time from the end of one kernel to the work of the next, for all operations.
double seconds_of_gaps(const StepRoofline& roofline) {
  double kernels = 0;
  for (const Operation& operation : roofline.operations) kernels += operation.count * operation.kernels;
  return kernels * plan::kernel_gap_s;
}

void print_summary(const StepRoofline& roofline, const GpuRates& rates, Console& console) {
  const auto part = [&](std::string_view name, double seconds) {
    console.print("{:<10} {:>9}  {:.1f} %\n", name, parallel::format_short_time(seconds),
                  100 * seconds / roofline.step_s);
  };
  for (const OperationKind kind : {OperationKind::matmul, OperationKind::attention, OperationKind::memory})
    part(name_of(kind), seconds_of_kind(roofline, rates, kind));
  part("waiting", roofline.waiting_s());
  console.print(
      "predicted step time on {}: {}, of which {} is between kernels; {} tokens/s, MFU {:.3f} of {:.4g} "
      "FLOP/s; waiting: for other ranks\n",
      rates.name, parallel::format_short_time(roofline.step_s),
      parallel::format_short_time(seconds_of_gaps(roofline)),
      format_count(static_cast<std::uint64_t>(roofline.tokens_per_s)), roofline.mfu, rates.peak_flops);
}

Json operation_line(const Operation& operation, const GpuRates& rates) {
  Json line{{"kind", "operation"},
            {"name", operation.name},
            {"of", name_of(operation.kind)},
            {"times", operation.count},
            {"each_s", seconds_per_call(operation, rates)},
            {"total_s", seconds_of(operation, rates)}};
  if (operation.kind == OperationKind::matmul) {
    const plan::MatmulTiling shape = matmul_tiling(operation, rates);
    line["M"] = operation.M, line["N"] = operation.N, line["K"] = operation.K;
    line["waves"] = shape.waves, line["filled"] = shape.wave_efficiency,
    line["aligned"] = operation.is_aligned;
  } else if (operation.kind == OperationKind::attention) {
    line["flops"] = operation.flops;
  } else {
    line["bytes"] = operation.bytes;
  }
  return line;
}

}  // namespace

void show_roofline(const GpuRates& rates, plan::LinkBandwidths links, const plan::Plan& plan,
                   Console& console) {
  const StepRoofline roofline = roofline_of(plan, rates, links);
  if (console.json()) {
    for (const Operation& operation : roofline.operations)
      console.print("{}\n", operation_line(operation, rates).dump());
  } else {
    print_operations(roofline, rates, console);
    print_summary(roofline, rates, console);
    console.print("additional step time without each optimization:\n");
  }
  Json line{{"kind", "roofline"},
            {"gpu", rates.name},
            {"step_s", roofline.step_s},
            {"computing_s", roofline.computing_s},
            {"tokens_per_s", roofline.tokens_per_s},
            {"mfu", roofline.mfu}};
  for (const Trait& trait : traits) {
    const double more_s = roofline_of(plan, rates, links, trait.without).step_s - roofline.step_s;
    line["without"][trait.key] = more_s;
    if (!console.json()) console.print("{:>9}  {}\n", parallel::format_short_time(more_s), trait.title);
  }
  if (console.json()) console.print("{}\n", line.dump());
}

}  // namespace dt::equivalence
