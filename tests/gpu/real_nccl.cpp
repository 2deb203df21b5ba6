// The machine's NCCL, on its GPUs.

#include <iostream>

#include "base/error.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/nccl/library.hpp"
#include "device/nccl/in_tests.hpp"

namespace dt::test_device {

namespace {

std::size_t num_gpus() {
  return accelerator().gpus().size();
}

}  // namespace

void use_nccl() {
  comm::nccl::register_nccl();
}

/// Returns as many ranks as there are GPUs, or more, if NCCL takes several ranks on one.
std::vector<int> nccl_group_sizes() {
  use_nccl();
  try {
    std::cout << comm::device_transport_library()->version() << ", " << num_gpus() << " GPUs\n";
  } catch (const Error& error) {
    std::cout << "SKIP: " << error.message() << "\n";
    return {};
  }
  const bool takes_shared = comm::device_transport_library()->takes_shared_gpus();
  std::vector<int> sizes;
  for (const int size : {1, 2, 3, 4, 8}) {
    if (static_cast<std::size_t>(size) <= num_gpus() || (takes_shared && size <= 4)) sizes.push_back(size);
  }
  return sizes;
}

Device nccl_device_of(int rank) {
  return Device::gpu(rank % static_cast<int>(num_gpus()));
}

}  // namespace dt::test_device
