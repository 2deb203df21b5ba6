// nccl_refusals WORDS...: checks that the limits of the NCCL that the loader finds are reported, by host
// and GPU, in these words, before any request to a GPU. Exit status: 77 if NCCL cannot be loaded.

#include <iostream>
#include <span>

#include "base/error.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/nccl/library.hpp"
#include "comm/threads/thread_group.hpp"

namespace {

/// Returns the error of one rank that starts to communicate; "" if there is none.
std::string refusal() {
  using namespace dt;
  std::string said;
  comm::nccl::register_nccl();
  comm::run_alone([&](comm::Communicator& group) {
    try {
      comm::device_transport_library()->open(group, Device::gpu(0), 10);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::environment) said = error.message() + "; " + error.context();
    }
    return 0;
  });
  return said;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string said = refusal();
  if (said.starts_with("cannot load NCCL")) {
    std::cout << "SKIP: " << said << "\n";
    return 77;
  }
  for (const char* const words : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    if (said.find(words) != std::string::npos) continue;
    std::cout << "\"" << said << "\" does not say \"" << words << "\"\n";
    return 1;
  }
  return 0;
}
