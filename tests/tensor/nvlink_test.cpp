#include <catch2/catch.hpp>

#include "tensor/device/gpu_probe.hpp"

using namespace dt;

TEST_CASE("NVLink is known by the GPU's name") {
  for (const char* name :
       {"NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM-64GB", "NVIDIA A800-SXM4-80GB", "NVIDIA H100 80GB HBM3",
        "NVIDIA H100", "NVIDIA H200", "NVIDIA H20", "NVIDIA H800", "NVIDIA GH200 120GB", "NVIDIA B200",
        "NVIDIA B300 SXM6 AC", "NVIDIA GB200", "NVIDIA GB300"}) {
    CAPTURE(name);
    CHECK(has_nvlink(name));
  }
  for (const char* name :
       {"NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe", "NVIDIA A800 40GB Active", "NVIDIA H100 PCIe",
        "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA H800 PCIe", "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA L40S", "NVIDIA GeForce RTX 4090", "test device", ""}) {
    CAPTURE(name);
    CHECK_FALSE(has_nvlink(name));
  }
}
