#include "comm/nccl/abort.cuh"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace dt::comm::nccl {

namespace {

constexpr std::chrono::seconds longest_wait(3);

void abort_now(const std::vector<ncclComm_t>& comms) noexcept {
  functions().ncclGroupStart();
  for (const ncclComm_t comm : comms) functions().ncclCommAbort(comm);
  functions().ncclGroupEnd();
}

}  // namespace

void abort_all(std::vector<ncclComm_t> comms) noexcept {
  std::erase(comms, nullptr);
  if (comms.empty()) return;
  try {
    const auto ended = std::make_shared<std::promise<void>>();
    std::thread([comms, ended] {
      abort_now(comms);
      ended->set_value();
    }).detach();
    ended->get_future().wait_for(longest_wait);
  } catch (const std::exception&) {
    abort_now(comms);  // no thread can be started
  }
}

}  // namespace dt::comm::nccl
