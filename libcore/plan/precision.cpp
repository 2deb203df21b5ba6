#include "plan/precision.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "kernels/arithmetic.hpp"
#include "plan/settings.hpp"
#include "tensor/context.hpp"

namespace dt::plan {

namespace {

/// Time for each candidate: long enough to tell which is faster, short compared with any real
/// start.
constexpr double measurement_s = 0.25;
/// A less preferred candidate is taken only if it is clearly faster, so that two starts on one
/// machine choose the same.
constexpr double clearly_faster = 1.1;

/// Arithmetics for bf16, the preferred one first.
constexpr Arithmetic candidates[] = {Arithmetic::amx, Arithmetic::bf16, Arithmetic::fp32};

/// Returns the first rank whose CPU lacks this arithmetic, and why. Returns an empty text if all
/// ranks have it.
std::string who_cannot(Arithmetic arithmetic, const comm::Ranks& ranks) {
  const std::string why = kernels::arithmetic_unavailable_reason(arithmetic);
  const std::vector<std::string> reasons =
      comm::gather_texts(ranks.world, why.empty() ? why : fmt::format("{} {}", host_name(), why));
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    if (!reasons[rank].empty()) return fmt::format("the CPU of rank {} on {}", rank, reasons[rank]);
  }
  return "";
}

comm::SharedError cannot(Arithmetic asked, const std::string& why) {
  return {ErrorKind::environment, fmt::format("--matmul {}: {}", name_of(asked), why),
          "omit --matmul to use the fastest that the CPUs support"};
}

/// Returns the arithmetics that all ranks have, the preferred one first. Announces those that the
/// first rank's CPU has but some other rank lacks.
std::vector<Arithmetic> common_arithmetics(const comm::Ranks& ranks) {
  std::vector<Arithmetic> common;
  for (const Arithmetic arithmetic : candidates) {
    const std::string why = who_cannot(arithmetic, ranks);
    if (why.empty()) {
      common.push_back(arithmetic);
    } else if (kernels::cpu_has(arithmetic)) {
      ranks.console.info("bf16 matrix products do not use {}: {}", name_of(arithmetic), why);
    }
  }
  return common;
}

Arithmetic fastest_of(const std::vector<Arithmetic>& choice, int threads, Console& console) {
  if (choice.size() == 1) {
    console.info("bf16 matrix products use {}, the fastest that this CPU supports", name_of(choice[0]));
    return choice[0];
  }
  const Context context(threads, Device::host());
  Arithmetic fastest = choice[0];
  double best = 0;
  std::string rates;
  for (const Arithmetic arithmetic : choice) {
    const double rate = kernels::measure_matmul_rate(context, arithmetic, measurement_s);
    if (rate > clearly_faster * best) fastest = arithmetic, best = rate;
    rates += fmt::format("{}{:.0f} {}in {}", rates.empty() ? "" : ", ", rate * 1e-9,
                         rates.empty() ? "GFLOP/s " : "", name_of(arithmetic));
  }
  console.info("bf16 matrix products use {}: {} (--matmul)", name_of(fastest), rates);
  return fastest;
}

/// Errors: usage, --matmul is for numbers of another precision.
void check_matmul(const Settings& settings, DType compute) {
  if (!settings.matmul || settings.matmul == Arithmetic::fp32) return;
  const DType needed = kernels::operand_dtype(*settings.matmul);
  if (compute != needed)
    throw usage_error("--matmul {} needs --precision {}, not {}", name_of(*settings.matmul),
                      precision_name(needed), precision_name(settings.precision));
}

}  // namespace

parallel::Precision precision_of(const Settings& settings) {
  parallel::Precision precision;
  precision.compute = settings.precision;
  const bool is_double = precision.compute == DType::f64;
  precision.gradient = is_double ? DType::f64 : settings.grad_dtype;
  precision.reduce = settings.reduce_dtype;
  if (is_double && settings.reduce_dtype != DType::f32)
    throw usage_error("--reduce-dtype {} cannot be combined with --precision fp64",
                      precision_name(settings.reduce_dtype));
  if (is_double && settings.grad_dtype != DType::f32)
    throw usage_error("--grad-dtype {} cannot be combined with --precision fp64",
                      precision_name(settings.grad_dtype));
  check_matmul(settings, precision.compute);
  if (settings.loss_scale && !has_narrow_range(precision.compute))
    throw usage_error("--loss-scale needs --precision fp16, not {}", precision_name(settings.precision));
  return precision;
}

void check_arithmetic(const Settings& settings) {
  if (!settings.matmul) return;
  if (const std::string why = kernels::arithmetic_unavailable_reason(*settings.matmul); !why.empty())
    throw cannot(*settings.matmul, fmt::format("the CPU of {} {}", host_name(), why));
}

void check_thread_limit(const Plan& plan, const comm::Ranks& ranks) {
  constexpr int beside = 4;  // reading ahead, saving, watching, and a thread that ends after its join
  comm::require_threads(ranks, plan.threads - 1 + beside);
}

Arithmetic choose_arithmetic(const Plan& plan, const checkpoint::TrainingState* resumed,
                             const comm::Ranks& ranks) {
  check_thread_limit(plan, ranks);
  if (plan.matmul == Arithmetic::tf32) return Arithmetic::tf32;  // on a GPU, as find_launch has checked
  const bool is_open = plan.device == Device::host() && plan.precision.compute == DType::bf16;
  if (!is_open || plan.matmul == Arithmetic::fp32) return Arithmetic::fp32;
  if (const auto asked = plan.matmul) {
    if (const std::string why = who_cannot(*asked, ranks); !why.empty()) throw cannot(*asked, why);
    return *asked;
  }
  const std::vector<Arithmetic> common = common_arithmetics(ranks);
  const auto before = resumed ? parse_name<Arithmetic>(resumed->matmul) : std::nullopt;
  if (before && std::ranges::count(common, *before) != 0) {
    ranks.console.info("bf16 matrix products use {}, as earlier in this run", name_of(*before));
    return *before;
  }
  std::int64_t choice = 0;
  if (ranks.is_root()) choice = static_cast<std::int64_t>(fastest_of(common, plan.threads, ranks.console));
  return static_cast<Arithmetic>(comm::broadcast_number(ranks.world, choice));
}

}  // namespace dt::plan
