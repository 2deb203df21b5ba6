#include "train/precision.hpp"

#include "base/error.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"
#include "kernels/linear.hpp"
#include "tensor/context.hpp"

namespace dt::train {

namespace {

/// Of each candidate; long enough to tell which is faster, short beside any real start.
constexpr double measurement_s = 0.25;
/// fp32 is taken only where it is clearly faster, so that two starts on one machine choose the same.
constexpr double clearly_faster = 1.1;

DType parse_precision(const std::string& name) {
  if (name == "fp64") return DType::f64;
  if (name == "bf16") return DType::bf16;
  if (name == "fp16") return DType::f16;
  return DType::f32;
}

comm::SharedError lacks_bf16(const std::string& whose) {
  return {ErrorKind::environment, fmt::format("--matmul bf16: the CPU of {} has no AVX512_BF16", whose),
          "leave --matmul out: fp32 multiplies what is stored in bf16"};
}

/// The first rank whose CPU does not multiply bf16, by name; empty where all do.
std::string rank_without_bf16(const comm::Ranks& ranks) {
  const std::vector<std::string> hosts =
      comm::gather_texts(ranks.world, kernels::multiplies_in(DType::bf16) ? std::string() : host_name());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (!hosts[rank].empty()) return fmt::format("rank {} on {}", rank, hosts[rank]);
  }
  return "";
}

bool is_bf16_faster(int threads, Console& console) {
  const Context context(threads);
  const double bf16 = kernels::measure_matmul_rate(context, DType::bf16, measurement_s);
  const double fp32 = kernels::measure_matmul_rate(context, DType::f32, measurement_s);
  const bool faster = fp32 < clearly_faster * bf16;
  console.info("multiplying bf16 in {}: {:.0f} GFLOP/s in bf16, {:.0f} in fp32 (--matmul)",
               faster ? "bf16" : "fp32", bf16 * 1e-9, fp32 * 1e-9);
  return faster;
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
  if (settings.matmul == "bf16" && precision.compute != DType::bf16)
    throw usage_error("--matmul bf16 needs --precision bf16, not {}", settings.precision);
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

void check_multiply(const Settings& settings) {
  if (settings.matmul == "bf16" && !kernels::multiplies_in(DType::bf16)) throw lacks_bf16(host_name());
}

DType choose_multiply(const Settings& settings, const parallel::Precision& precision, int threads,
                      const checkpoint::TrainingState* resumed, const comm::Ranks& ranks) {
  if (precision.compute != DType::bf16 || settings.matmul == "fp32") return DType::f32;
  const std::string lacking = rank_without_bf16(ranks);
  if (settings.matmul == "bf16") {
    if (lacking.empty()) return DType::bf16;
    throw lacks_bf16(lacking);
  }
  const std::string before = resumed ? resumed->matmul : "";
  std::int64_t in_bf16 = 0;
  if (lacking.empty()) {
    if (before.empty()) {
      if (ranks.is_first()) in_bf16 = is_bf16_faster(threads, ranks.console) ? 1 : 0;
      in_bf16 = comm::broadcast_number(ranks.world, in_bf16);
    } else {
      in_bf16 = before == "bf16" ? 1 : 0;
      ranks.console.info("multiplying bf16 in {}, as the run did before", before);
    }
  } else {
    ranks.console.info("multiplying bf16 in fp32: the CPU of {} has no AVX512_BF16", lacking);
  }
  return in_bf16 != 0 ? DType::bf16 : DType::f32;
}

}  // namespace dt::train
