// Checks CUDA's answer beside a driver that is too old (old_driver.cpp): it is reported as such, and is an
// error if there is a GPU.

#include <iostream>

#include "base/error.hpp"
#include "tensor/cuda/gpus.hpp"

int main() {
  dt::DriverProbe answer = dt::cuda::probe_driver();
  if (answer.kind != dt::DriverProbe::Kind::no_driver || answer.driver != 11040 || answer.runtime < 12000) {
    std::cout << "of kind " << static_cast<int>(answer.kind) << " (" << answer.said << "), driver "
              << answer.driver << ", runtime " << answer.runtime << "\n";
    return 1;
  }
  answer.device_file = "/dev/nvidia0";
  answer.visible.reset();
  try {
    dt::usable_gpus(answer);
  } catch (const dt::NoGpu& error) {
    std::cout << "taken for none: " << error.message() << "\n";
    return 1;
  } catch (const dt::Error& error) {
    std::cout << error.message() << "\n";
    return 0;
  }
  std::cout << "can be used\n";
  return 1;
}
