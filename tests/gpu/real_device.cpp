// This machine's GPUs in place of the test device: the same cases, linked to this file, compute there. Exit
// status: 77 if no GPU answers.

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

#include "base/error.hpp"
#include "device/test_device.hpp"
#include "kernels/cuda/register_gpus.hpp"
#include "kernels/dispatch.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::test_device {

/// Ignores the seed: a GPU takes threads and streams in its own order.
Use::Use(std::uint64_t) {
  kernels::cuda::register_gpus();
}

Use::~Use() {
  kernels::set_gpu_kernels(nullptr);
  set_accelerator(nullptr);
}

}  // namespace dt::test_device

namespace {

/// Returns "" if GPUs answer, else the reason.
std::string what_is_missing() {
  const dt::test_device::Use device(1);
  try {
    return dt::accelerator().gpus().empty() ? "no GPU may be seen" : "";
  } catch (const dt::Error& error) {
    return error.message();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string missing = what_is_missing();
  if (missing.empty()) return Catch::Session().run(argc, argv);
  std::cout << "SKIP: " << missing << "\n";
  return 77;
}
