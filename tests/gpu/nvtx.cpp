// Checks that named ranges arrive at a profiler, which is this program itself, in the order in which they
// begin and end.

#define NVTX_NO_IMPL
#include <iostream>
#include <nvtx3/nvToolsExt.h>

#include "tensor/cuda/accelerator.hpp"

namespace {

std::string heard;

nvtxDomainHandle_t NVTX_API create(const char* name) {
  heard += std::string("domain ") + name + "; ";
  return reinterpret_cast<nvtxDomainHandle_t>(&heard);
}

int NVTX_API begin(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  if (domain == reinterpret_cast<nvtxDomainHandle_t>(&heard))
    heard += std::string("begin ") + range->message.ascii + "; ";
  return 0;
}

int NVTX_API end(nvtxDomainHandle_t) {
  heard += "end; ";
  return 0;
}

template <class Function>
NvtxFunctionPointer pointer_to(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

/// NVTX calls this function when it is first used.
int NVTX_API listen(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned count = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &count)) return 0;
  *functions[NVTX_CBID_CORE2_DomainCreateA] = pointer_to(create);
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = pointer_to(begin);
  *functions[NVTX_CBID_CORE2_DomainRangePop] = pointer_to(end);
  return 1;
}

}  // namespace

extern "C" {
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = listen;
}

int main() {
  using namespace dt::cuda;
  const bool has_one = profiler_attached();
  begin_range("forward(unit 3, micro-batch 0)");
  begin_range("within");
  end_range();
  end_range();
  if (has_one && heard == "domain dt; begin forward(unit 3, micro-batch 0); begin within; end; end; ")
    return 0;
  std::cout << "a tool hears \"" << heard << "\"\n";
  return 1;
}
