// nccl_refusals WORDS...: what the NCCL that the loader finds cannot do is told, by host and GPU, in these
// words, before a GPU is asked for anything. Exit status 77 where there is no NCCL.

#include <iostream>
#include <span>

#include "base/error.hpp"
#include "comm/nccl/use.hpp"
#include "comm/streams/library.hpp"
#include "comm/threads/thread_group.hpp"

namespace {

/// Of one rank, that wants to communicate; empty: nothing.
std::string refusal() {
  using namespace dt;
  std::string said;
  comm::nccl::use_nccl();
  comm::run_alone([&](comm::Communicator& group) {
    try {
      comm::stream_library()->open(group, Device::gpu(0), 10);
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
  if (said.starts_with("there is no NCCL")) {
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
