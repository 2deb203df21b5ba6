#include "bench/table/report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "bench/table/rows.hpp"
#include "bench/table/trial.hpp"

namespace dt::table {

namespace {

constexpr const char* no_torch = "no PyTorch is given";
constexpr const char* no_train = "no dt-train is given";
constexpr const char* no_bf16 = "the CPU has no instruction for bf16";
constexpr const char* no_products = "needs the section products";

Workload llama_1b_block() {
  model::ModelSpec spec = model::load_model_spec("llama-1b");
  spec.layers = 1;
  return {"llama-1b, one block and head", spec, 2048, 2};
}

class Speed {
 public:
  Speed(const Tools& tools, const Sections& sections) : tools_(tools), sections_(sections) {}

  /// Measures most rows twice, since a shared machine is faster at one time than at another.
  void report() {
    check_torch();
    if (sections_.steps) train();
    measure_kernels();
    if (sections_.steps) train_torch();
    measure_kernels();
    if (sections_.products) print_products();
    if (sections_.attention) print_attention();
    if (sections_.steps) train();
    if (sections_.steps) print_steps();
    at_least("the machine's pace meanwhile, least ÷ most", pace_.least(), std::nullopt,
             "of an fp32 product between the measurements above");
  }

 private:
  bool has_bf16() const { return tools_.cpu.multiplies_bf16(); }
  bool has_amx() const { return tools_.cpu.has_amx_bf16; }
  /// Returns the bound of one best rate, but none for AMX. One rate bounds everything for instructions that
  /// come near it at every shape; AMX has the sum over the shapes.
  std::optional<double> unless_amx(double bound) const {
    return has_amx() ? std::nullopt : std::optional(bound);
  }

  /// Fails early, before minutes are spent on the rest.
  void check_torch() const {
    if (tools_.torch) title("PyTorch " + TorchKernels(*tools_.torch).version());
  }
  void measure_kernels() {
    std::optional<TorchKernels> started;
    if (tools_.torch) started.emplace(*tools_.torch);
    TorchKernels* const torch = started ? &*started : nullptr;
    pace_.sample();
    if (sections_.products) {
      gpt2_fp32_.measure_kernels(torch);
      if (has_bf16()) gpt2_bf16_.measure_kernels(torch), llama_bf16_.measure_kernels(torch);
    }
    if (sections_.attention) {
      long_fp32_.measure(nullptr);
      long_bf16_.measure(has_bf16() ? torch : nullptr);
    }
    pace_.sample();
  }
  void train() {
    if (!tools_.train) return;
    pace_.sample();
    gpt2_fp32_.train(*tools_.train);
    gpt2_bf16_.train(*tools_.train);
    if (has_bf16()) llama_bf16_.train(*tools_.train);
    pace_.sample();
  }
  /// Trains in bf16 only if the CPU has it: without, PyTorch emulates it at a hundredth of the speed.
  void train_torch() {
    if (!tools_.train || !tools_.torch) return;
    gpt2_fp32_.train_torch(*tools_.torch);
    if (has_bf16()) gpt2_bf16_.train_torch(*tools_.torch), llama_bf16_.train_torch(*tools_.torch);
  }

  void print_products() const {
    gpt2_fp32_.products().print();
    if (!has_bf16()) return not_measured("products in bf16", no_bf16);
    gpt2_bf16_.products().print();
    llama_bf16_.products().print();
  }

  double best_rate(DType dtype) const {
    const bool bf16 = dtype != DType::f32 && has_bf16();
    const double gpt2 = (bf16 ? gpt2_bf16_ : gpt2_fp32_).products().best_rate();
    return bf16 ? std::max(gpt2, llama_bf16_.products().best_rate()) : gpt2;
  }

  void print_attention() const {
    title("Attention, T=4096, 12 heads of 64");
    print_of_best_rate(long_fp32_, DType::f32);
    print_of_best_rate(long_bf16_, DType::bf16);
    const AttentionSeconds &dt = long_bf16_.dt(), &torch = long_bf16_.torch();
    const auto row = [&](const char* pass, double ours, double other, double bound) {
      const std::string what = fmt::format("attention T=4096 bf16 {} against PyTorch's", pass);
      if (!has_bf16() || !tools_.torch) return not_measured(what, has_bf16() ? no_torch : no_bf16);
      at_least(what, other / ours, bound,
               fmt::format("{:.1f} ms against {:.1f} ms", ours * 1e3, other * 1e3));
    };
    row("forward", dt.forward, torch.forward, 2);
    row("backward", dt.backward, torch.backward, 1.5);
  }
  void print_of_best_rate(const Attention& attention, DType dtype) const {
    const std::string what =
        fmt::format("attention T=4096 {}, forward and backward: rate ÷ best rate", name_of(dtype));
    if (!sections_.products) return not_measured(what, no_products);
    const AttentionSeconds& s = attention.dt();
    const double rate = (attention.forward_work() + attention.backward_work()) / (s.forward + s.backward);
    const std::string note = fmt::format("{:.0f} GFLOP/s", rate * 1e-9);
    at_least(what, rate / best_rate(dtype), dtype == DType::f32 ? 0.55 : unless_amx(0.55), note);
  }

  void print_steps() const {
    title("Training steps, dt-train's");
    if (!tools_.train) return not_measured("steps", no_train);
    gpt2_fp32_.print_of_best_rate(best_rate(DType::f32), 0.80);
    gpt2_fp32_.print_against_torch(1.3, no_torch);
    gpt2_fp32_.print_of_best_rates(std::nullopt);
    gpt2_bf16_.print_of_best_rate(best_rate(DType::bf16), unless_amx(0.70));
    print_precisions();
    print_bf16(gpt2_bf16_, 0.60);
    print_bf16(llama_bf16_, 0.65);
  }
  void print_bf16(const Trial& trial, double bound) const {
    if (has_bf16())
      trial.print_of_best_rates(bound);
    else
      not_measured(trial.name_of_sum(), no_bf16);
    trial.print_against_torch(has_amx() ? 1.5 : 1.3, has_bf16() ? no_torch : no_bf16);
  }
  void print_precisions() const {
    const double ratio = gpt2_fp32_.trained().step_s / gpt2_bf16_.trained().step_s;
    const double roofs = best_rate(DType::bf16) / best_rate(DType::f32);
    const std::string memory = fmt::format("{:.3f}; memory {:.2f} of fp32's", ratio,
                                           gpt2_bf16_.trained().peak_bytes / gpt2_fp32_.trained().peak_bytes);
    if (!has_bf16()) return at_least("tokens/s, bf16 ÷ fp32", ratio, 0.95, memory);
    const std::string what = "tokens/s, bf16 ÷ fp32, ÷ ratio of the best rates";
    const std::string note = fmt::format("{} ÷ {:.3f}", memory, roofs);
    at_least(what, ratio / roofs, unless_amx(0.85), note);
  }

  const Tools& tools_;
  const Sections& sections_;
  Pace pace_;
  Trial gpt2_fp32_{gpt2_124m(), DType::f32}, gpt2_bf16_{gpt2_124m(), DType::bf16},
      llama_bf16_{llama_1b_block(), DType::bf16};
  Attention long_fp32_{{1, 4096, 12, 12, 64}, DType::f32}, long_bf16_{{1, 4096, 12, 12, 64}, DType::bf16};
};

}  // namespace

Workload gpt2_124m() {
  return {"GPT-2 124M", model::load_model_spec("gpt2-124m"), 1024, 4};
}

void report_speed(const Tools& tools, const Sections& sections) {
  Speed(tools, sections).report();
}

}  // namespace dt::table
