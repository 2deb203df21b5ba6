#include "bench/table/trial.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "bench/table/rows.hpp"

namespace dt::table {

Trial::Trial(Workload workload, DType precision)
    : workload_(std::move(workload)),
      name_(fmt::format("{} T={}, {}", workload_.name, workload_.sequence, name_of(precision))),
      precision_(precision),
      products_(name_, workload_.spec, workload_.tokens(), precision),
      attention_({workload_.batch, workload_.sequence, workload_.spec.query_heads,
                  workload_.spec.key_value_heads, workload_.spec.head_dim},
                 precision) {}

void Trial::measure_kernels(TorchKernels* torch) {
  products_.measure(torch);
  attention_.measure(torch);
}

void Trial::train(const DtTrain& tool) {
  const Trained trained = table::train(tool, workload_, precision_);
  dt_.step_s = std::min(dt_.step_s, trained.step_s);
  dt_.peak_bytes = std::max(dt_.peak_bytes, trained.peak_bytes);
}

void Trial::print_of_best_rate(double best_rate, std::optional<double> bound) const {
  const double rate = workload_.work() / dt_.step_s;
  at_least(name_ + ": work ÷ step ÷ best rate", rate / best_rate, bound,
           fmt::format("{:.0f} tokens/s; {:.0f} of {:.0f} GFLOP/s",
                       static_cast<double>(workload_.tokens()) / dt_.step_s, rate * 1e-9, best_rate * 1e-9));
}

void Trial::print_of_best_rates(std::optional<double> bound) const {
  const double matmuls = products_.seconds_at_best(), both = matmuls + attention_.seconds_at_best();
  at_least(name_of_sum(), matmuls / dt_.step_s, bound,
           fmt::format("{:.3f} of {:.3f} s", matmuls, dt_.step_s));
  at_least(name_ + ": Σ matmuls and attention likewise ÷ step", both / dt_.step_s, std::nullopt,
           fmt::format("{:.3f} of {:.3f} s", both, dt_.step_s));
}

void Trial::print_against_torch(double bound, const std::string& why_not) const {
  const std::string what = name_ + ": tokens/s against PyTorch";
  if (torch_.empty()) return not_measured(what, why_not);
  std::string modes;
  for (const TorchMode& mode : torch_) modes += fmt::format("; {} {:.2f} s", mode.name, mode.step_s);
  const double best = std::ranges::min(torch_, {}, &TorchMode::step_s).step_s;
  at_least(what, best / dt_.step_s, bound, fmt::format("{:.2f} s{}", dt_.step_s, modes));
}

}  // namespace dt::table
