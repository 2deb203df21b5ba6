#include "plan/time/peak_flops.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/io/files.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "kernels/arithmetic.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::plan {

namespace {

constexpr double tera = 1e12;

/// Time for measuring the matmul rate: long enough for a stable figure, short compared with any
/// real start.
constexpr double matmul_measurement_s = 0.5;

/// TFLOP/s without sparsity, summed in fp32; 0: not published.
struct GpuPeaks {
  std::string_view name;  // without the maker's name
  double half;            // bf16 and fp16 on tensor cores
  double tf32;
  double fp32;  // outside of tensor cores
  double fp64;  // on tensor cores where they have it
};

/// Source: NVIDIA's whitepapers "A100 Tensor Core GPU Architecture" (table 4), "H100 Tensor Core GPU
/// Architecture" (table 2), "Ampere GA102 GPU Architecture" and "Ada GPU Architecture" (appendices),
/// and the data sheets of A10, A30, A40, L4, L40, L40S, H100 NVL, H200, GH200 and HGX B200, whose
/// figures with sparsity are halved.
constexpr std::array<GpuPeaks, 22> gpu_peaks = {{
    {"A100-SXM4-40GB", 312, 156, 19.5, 19.5},
    {"A100-SXM4-80GB", 312, 156, 19.5, 19.5},
    {"A100-PCIE-40GB", 312, 156, 19.5, 19.5},
    {"A100 80GB PCIe", 312, 156, 19.5, 19.5},
    {"A10", 125, 62.5, 31.2, 0},
    {"A30", 165, 82, 10.3, 10.3},
    {"A40", 149.7, 74.8, 37.4, 0},
    {"RTX A6000", 154.8, 77.4, 38.7, 0},
    {"GeForce RTX 3090", 71, 35.6, 35.6, 0},
    {"GeForce RTX 4090", 165.2, 82.6, 82.6, 0},
    {"L4", 121, 60, 30.3, 0},
    {"L40", 181.05, 90.5, 90.5, 0},
    {"L40S", 362.05, 183, 91.6, 0},
    {"H100 80GB HBM3", 989.4, 494.7, 66.9, 66.9},
    {"H100 PCIe", 756, 378, 51.2, 51.2},
    {"H100 NVL", 835, 417, 60, 60},
    {"H200", 989.4, 494.7, 66.9, 66.9},
    {"H200 NVL", 835, 417, 60, 60},
    {"GH200 120GB", 989.4, 494.7, 66.9, 66.9},
    {"GH200 480GB", 989.4, 494.7, 66.9, 66.9},
    {"GH200 144G HBM3e", 989.4, 494.7, 66.9, 66.9},
    {"B200", 2250, 1100, 75, 37},
}};

/// FLOPs of a core in a cycle: 2 × FMA units × fp32 numbers in a vector; for AMX 2 × 16 × 16 products
/// of pairs.
struct CoreRate {
  std::string_view vendor;
  int family;
  int first_model, last_model;
  double fp32;
  double amx;  // 0: no AMX
};

/// Only families in which each model has as many units.
/// Source: AMD's "Software Optimization Guide" for families 17h, 19h and 1Ah; Intel's "64 and IA-32
/// Architectures Optimization Reference Manual".
constexpr std::array<CoreRate, 12> core_rates = {{
    {"AuthenticAMD", 0x17, 0x00, 0x2f, 16, 0},  // Zen: two units of 128 bits
    {"AuthenticAMD", 0x17, 0x30, 0xff, 32, 0},  // Zen 2: two of 256 bits
    {"AuthenticAMD", 0x19, 0x00, 0xff, 32, 0},  // Zen 3, Zen 4
    {"AuthenticAMD", 0x1a, 0x00, 0x1f, 64, 0},  // Zen 5 of servers: two of 512 bits
    {"GenuineIntel", 6, 63, 63, 32, 0},         // Haswell-EP
    {"GenuineIntel", 6, 79, 79, 32, 0},         // Broadwell-EP
    {"GenuineIntel", 6, 106, 106, 64, 0},       // Ice Lake-SP
    {"GenuineIntel", 6, 108, 108, 64, 0},       // Ice Lake-D
    {"GenuineIntel", 6, 143, 143, 64, 1024},    // Sapphire Rapids
    {"GenuineIntel", 6, 207, 207, 64, 1024},    // Emerald Rapids
    {"GenuineIntel", 6, 173, 173, 64, 1024},    // Granite Rapids
    {"GenuineIntel", 6, 174, 174, 64, 1024},    // Granite Rapids-D
}};

/// Returns the first line of a file, or the value behind the ':' of its line that begins with `key`.
/// Returns "" if there is none.
std::string field_of(const std::filesystem::path& path, std::string_view key = {}) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  try {
    for (const std::string& line : split(read_file(path), '\n')) {
      if (key.empty()) return std::string(trim(line));
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos && trim(std::string_view(line).substr(0, colon)) == key)
        return std::string(trim(std::string_view(line).substr(colon + 1)));
    }
  } catch (const std::exception&) {  // a value that cannot be read is unknown
  }
  return "";
}

double number_of(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns whether this rank's threads have cores while those of the ranks before it on its host use theirs.
/// Other ranks share cores whose rate is counted already.
bool has_own_cores(const Plan& plan) {
  const int own = plan.launch.rank, host = plan.launch.host_of(own);
  int num_before = 0;
  for (int rank = 0; rank < own; ++rank) num_before += plan.launch.host_of(rank) == host ? 1 : 0;
  return num_before == 0 || (num_before + 1) * plan.threads <= plan.launch.host_cores;
}

/// Returns the matmul rate of this rank's cores. The matrices' memory is a context's of its own, which ends.
double measure_cpu_rate(const Plan& plan) {
  const Context context(plan.threads, plan.device);
  return kernels::measure_matmul_rate(context, plan.arithmetic, matmul_measurement_s);
}

/// Returns the matmul rate of all ranks together.
double measure_peak_flops(const Plan& plan, const Context& context, comm::Communicator& world) {
  double rate = 0;
  if (plan.device != Device::host())
    rate = kernels::measure_gpu_matmul_rate(context, plan.precision.compute, matmul_measurement_s);
  else if (has_own_cores(plan))
    rate = measure_cpu_rate(plan);
  const Tensor value = host_tensor(rate);
  world.all_reduce(value, value).wait_host();
  return rate;
}

}  // namespace

std::optional<double> gpu_peak_flops(std::string_view name, DType dtype, Arithmetic arithmetic) {
  constexpr std::string_view maker = "NVIDIA ";
  if (name.starts_with(maker)) name.remove_prefix(maker.size());
  const auto* found = std::ranges::find(gpu_peaks, name, &GpuPeaks::name);
  if (found == gpu_peaks.end()) return std::nullopt;
  const double peak = is_narrow_float(dtype)           ? found->half
                      : dtype == DType::f64            ? found->fp64
                      : arithmetic == Arithmetic::tf32 ? found->tf32
                                                       : found->fp32;
  return peak > 0 ? std::optional(peak * tera) : std::nullopt;
}

CpuInfo describe_processor(const std::vector<int>& hardware_threads, const std::filesystem::path& root) {
  const std::filesystem::path info = root / "proc/cpuinfo", cpus = root / "sys/devices/system/cpu";
  CpuInfo processor{.vendor = field_of(info, "vendor_id"),
                    .family = static_cast<int>(number_of(field_of(info, "cpu family"))),
                    .model = static_cast<int>(number_of(field_of(info, "model")))};
  std::set<std::pair<std::string, std::string>> cores;
  for (const int thread : hardware_threads) {
    const std::filesystem::path cpu = cpus / fmt::format("cpu{}", thread);
    const std::string core = field_of(cpu / "topology/core_id");
    if (!core.empty()) cores.emplace(field_of(cpu / "topology/physical_package_id"), core);
  }
  processor.num_cores = static_cast<int>(cores.size());
  if (!hardware_threads.empty()) {
    const std::string file = fmt::format("cpu{}/cpufreq/cpuinfo_max_freq", hardware_threads.front());
    constexpr double kilo = 1000;
    processor.max_hz = kilo * number_of(field_of(cpus / file));
  }
  return processor;
}

std::optional<double> cpu_peak_flops(const CpuInfo& processor, DType dtype, Arithmetic arithmetic,
                                     int threads) {
  const auto* rate = std::ranges::find_if(core_rates, [&](const CoreRate& r) {
    return r.vendor == processor.vendor && r.family == processor.family && r.first_model <= processor.model &&
           processor.model <= r.last_model;
  });
  if (rate == core_rates.end() || processor.max_hz <= 0 || processor.num_cores <= 0) return std::nullopt;
  const double cycle = dtype == DType::f64              ? rate->fp32 / 2
                       : arithmetic == Arithmetic::fp32 ? rate->fp32
                       : arithmetic == Arithmetic::amx  ? rate->amx
                                                        : 0;
  if (cycle <= 0) return std::nullopt;
  return std::min(threads, processor.num_cores) * cycle * processor.max_hz;
}

std::optional<double> known_peak_flops(const Plan& plan) {
  if (plan.device == Device::host())
    return cpu_peak_flops(describe_processor(available_core_numbers()), plan.precision.compute,
                          plan.arithmetic, plan.threads);
  const auto peak = gpu_peak_flops(plan.launch.gpu.name, plan.precision.compute, plan.arithmetic);
  const int own = plan.launch.gpu_of(plan.launch.rank);
  int sharers = 0;
  for (int rank = 0; rank < plan.layout.size(); ++rank) sharers += plan.launch.gpu_of(rank) == own ? 1 : 0;
  return peak ? std::optional(*peak / std::max(1, sharers)) : std::nullopt;
}

PeakFlops find_peak_flops(const Plan& plan, const Context& context, comm::Communicator& world) {
  if (plan.logging.peak_flops) return {*plan.logging.peak_flops * plan.layout.size(), "peak"};
  const std::optional<double> own = known_peak_flops(plan);
  std::vector<double> sums = {own.value_or(0), own ? 1.0 : 0.0};
  const Tensor all = host_tensor(sums);
  world.all_reduce(all, all).wait_host();
  if (sums[1] == world.size()) return {sums[0], "peak"};
  return {measure_peak_flops(plan, context, world), "measured"};
}

}  // namespace dt::plan
