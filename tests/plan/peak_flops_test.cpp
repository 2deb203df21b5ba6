#include "plan/time/peak_flops.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "base/test_folder.hpp"

using namespace dt;
using namespace dt::plan;

TEST_CASE("the peak of a GPU is its data sheet's, dense, by what is multiplied") {
  const char* h100 = "NVIDIA H100 80GB HBM3";
  CHECK(gpu_peak_flops(h100, DType::bf16, Arithmetic::fp32).value_or(0) == Approx(989.4e12));
  CHECK(gpu_peak_flops(h100, DType::f16, Arithmetic::fp32).value_or(0) == Approx(989.4e12));
  CHECK(gpu_peak_flops(h100, DType::f32, Arithmetic::tf32).value_or(0) == Approx(494.7e12));
  CHECK(gpu_peak_flops(h100, DType::f32, Arithmetic::fp32).value_or(0) == Approx(66.9e12));
  CHECK(gpu_peak_flops(h100, DType::f64, Arithmetic::fp32).value_or(0) == Approx(66.9e12));
  CHECK(gpu_peak_flops("A40", DType::bf16, Arithmetic::fp32).value_or(0) == Approx(149.7e12));
}

TEST_CASE("a GPU that the table does not have, or a part of one, has no known peak") {
  for (const char* name : {"NVIDIA A100-SXM4-40GB MIG 3g.20gb", "NVIDIA A100-SXM-64GB", "NVIDIA L400", ""})
    CHECK_FALSE(gpu_peak_flops(name, DType::bf16, Arithmetic::fp32).has_value());
  CHECK_FALSE(gpu_peak_flops("NVIDIA A40", DType::f64, Arithmetic::fp32).has_value());
}

TEST_CASE("the peak of a CPU is cores, not hardware threads, times FLOPs a cycle times the frequency") {
  const dt_test::Folder root;
  const auto put = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  put("proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n");
  for (const int cpu : {0, 1, 2, 3}) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", cpu);
    put(folder + "topology/physical_package_id", "0\n");
    put(folder + "topology/core_id", fmt::format("{}\n", cpu % 2));  // two threads on each of two cores
  }
  const auto peak = [&](Arithmetic arithmetic, int threads, DType dtype = DType::f32) {
    return cpu_peak_flops(describe_processor({0, 1, 2, 3}, root.path()), dtype, arithmetic, threads);
  };
  CHECK_FALSE(peak(Arithmetic::fp32, 4).has_value());  // the frequency is unknown
  put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2000000\n");
  CHECK(peak(Arithmetic::fp32, 4).value_or(0) == Approx(2 * 64 * 2e9));
  CHECK(peak(Arithmetic::fp32, 1).value_or(0) == Approx(64 * 2e9));
  CHECK(peak(Arithmetic::fp32, 1, DType::f64).value_or(0) == Approx(32 * 2e9));
  CHECK(peak(Arithmetic::amx, 2, DType::bf16).value_or(0) == Approx(2 * 1024 * 2e9));
  CHECK_FALSE(peak(Arithmetic::bf16, 2, DType::bf16).has_value());
  // Processors of this model have one AVX-512 unit or two.
  put("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n");
  CHECK_FALSE(peak(Arithmetic::fp32, 1).has_value());
}
