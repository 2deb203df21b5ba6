#include <nvtx3/nvToolsExt.h>

#include "tensor/cuda/nvtx.hpp"

namespace dt::cuda {

namespace {

/// Returns dt's NVTX domain, or null if no profiler is attached.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t the_domain = nvtxDomainCreateA("dt");
  return the_domain;
}

}  // namespace

bool profiler_attached() {
  return domain() != nullptr;
}

void begin_range(const std::string& name) {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &range);
}

void end_range() {
  nvtxDomainRangePop(domain());
}

}  // namespace dt::cuda
