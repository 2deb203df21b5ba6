#include "train/precision.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"
#include "kernels/linear.hpp"
#include "tensor/context.hpp"

namespace dt::train {

namespace {

/// Of each candidate; long enough to tell which is faster, short beside any real start.
constexpr double measurement_s = 0.25;
/// What is less preferred is taken only where it is clearly faster, so that two starts on one machine choose
/// the same.
constexpr double clearly_faster = 1.1;

DType parse_precision(const std::string& name) {
  if (name == "fp64") return DType::f64;
  if (name == "bf16") return DType::bf16;
  if (name == "fp16") return DType::f16;
  return DType::f32;
}

/// Of bf16, from the one to prefer.
constexpr Arithmetic candidates[] = {Arithmetic::amx, Arithmetic::bf16, Arithmetic::fp32};

const char* instruction_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::amx ? "AMX (amx_bf16) that this process may use" : "AVX512_BF16";
}

comm::SharedError lacks(Arithmetic asked, const std::string& whose) {
  return {ErrorKind::environment,
          fmt::format("--matmul {}: the CPU of {} has no {}", arithmetic_name(asked), whose,
                      instruction_of(asked)),
          "leave --matmul out: dt then takes what is fastest there"};
}

/// The first rank whose CPU does not multiply so, by name; empty where all do.
std::string rank_without(Arithmetic arithmetic, const comm::Ranks& ranks) {
  const std::vector<std::string> hosts =
      comm::gather_texts(ranks.world, kernels::multiplies_in(arithmetic) ? std::string() : host_name());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (!hosts[rank].empty()) return fmt::format("rank {} on {}", rank, hosts[rank]);
  }
  return "";
}

/// Those that all ranks have, from the one to prefer.
std::vector<Arithmetic> common_arithmetics(const comm::Ranks& ranks) {
  std::vector<Arithmetic> common;
  for (const Arithmetic arithmetic : candidates) {
    const std::string lacking = rank_without(arithmetic, ranks);
    if (lacking.empty()) {
      common.push_back(arithmetic);
    } else if (ranks.world.size() > 1 && kernels::multiplies_in(arithmetic)) {
      ranks.console.info("not multiplying bf16 in {}: the CPU of {} has no {}", arithmetic_name(arithmetic),
                         lacking, instruction_of(arithmetic));
    }
  }
  return common;
}

Arithmetic fastest_of(const std::vector<Arithmetic>& choice, int threads, Console& console) {
  if (choice.size() == 1) {
    console.info("multiplying bf16 in {}: the CPU has nothing faster", arithmetic_name(choice[0]));
    return choice[0];
  }
  const Context context(threads);
  Arithmetic fastest = choice[0];
  double best = 0;
  std::string rates;
  for (const Arithmetic arithmetic : choice) {
    const double rate = kernels::measure_matmul_rate(context, arithmetic, measurement_s);
    if (rate > clearly_faster * best) fastest = arithmetic, best = rate;
    rates += fmt::format("{}{:.0f} {}in {}", rates.empty() ? "" : ", ", rate * 1e-9,
                         rates.empty() ? "GFLOP/s " : "", arithmetic_name(arithmetic));
  }
  console.info("multiplying bf16 in {}: {} (--matmul)", arithmetic_name(fastest), rates);
  return fastest;
}

}  // namespace

parallel::Precision precision_of(const Settings& settings) {
  parallel::Precision precision;
  precision.compute = parse_precision(settings.precision);
  const bool is_double = precision.compute == DType::f64;
  precision.gradient = is_double ? DType::f64 : parse_precision(settings.grad_dtype);
  precision.reduce = parse_precision(settings.reduce_dtype);
  if (is_double && settings.reduce_dtype != "fp32")
    throw usage_error("--reduce-dtype {} needs another --precision than fp64", settings.reduce_dtype);
  if (is_double && settings.grad_dtype != "fp32")
    throw usage_error("--grad-dtype {} needs another --precision than fp64", settings.grad_dtype);
  if (settings.matmul != "auto" && settings.matmul != "fp32" && precision.compute != DType::bf16)
    throw usage_error("--matmul {} needs --precision bf16, not {}", settings.matmul, settings.precision);
  if (settings.loss_scale && precision.compute != DType::f16)
    throw usage_error("--loss-scale needs --precision fp16, not {}", settings.precision);
  return precision;
}

std::string precision_name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "fp64";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "fp16";
    default:
      return "fp32";
  }
}

void check_arithmetic(const Settings& settings) {
  const auto asked = parse_arithmetic(settings.matmul);
  if (asked && !kernels::multiplies_in(*asked)) throw lacks(*asked, host_name());
}

Arithmetic choose_arithmetic(const Settings& settings, const parallel::Precision& precision, int threads,
                             const checkpoint::TrainingState* resumed, const comm::Ranks& ranks) {
  if (precision.compute != DType::bf16 || settings.matmul == "fp32") return Arithmetic::fp32;
  if (const auto asked = parse_arithmetic(settings.matmul)) {
    if (const std::string lacking = rank_without(*asked, ranks); !lacking.empty())
      throw lacks(*asked, lacking);
    return *asked;
  }
  const std::vector<Arithmetic> common = common_arithmetics(ranks);
  const auto before = resumed ? parse_arithmetic(resumed->matmul) : std::nullopt;
  if (before && std::ranges::count(common, *before) != 0) {
    ranks.console.info("multiplying bf16 in {}, as the run did before", arithmetic_name(*before));
    return *before;
  }
  std::int64_t choice = 0;
  if (ranks.is_first()) choice = static_cast<std::int64_t>(fastest_of(common, threads, ranks.console));
  return static_cast<Arithmetic>(comm::broadcast_number(ranks.world, choice));
}

}  // namespace dt::train
