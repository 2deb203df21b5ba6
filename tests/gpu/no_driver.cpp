// Stands in for CUDA's driver if there is none. cuDNN's kernels are compiled completely, and count as
// loaded. None can be launched.

// NOLINTBEGIN: these names are CUDA's
namespace {
int made = 0;
}  // namespace

extern "C" {

#define DT_NOT_HERE(name) \
  int name() {            \
    return 34;            \
  }  // CUDA_ERROR_STUB_LIBRARY
DT_NOT_HERE(cuCtxGetCurrent)
DT_NOT_HERE(cuCtxGetLimit)
DT_NOT_HERE(cuCtxPopCurrent)
DT_NOT_HERE(cuCtxPushCurrent)
DT_NOT_HERE(cuDeviceGet)
DT_NOT_HERE(cuDeviceGetCount)
DT_NOT_HERE(cuDriverGetVersion)
DT_NOT_HERE(cuGetErrorName)
DT_NOT_HERE(cuGetErrorString)
DT_NOT_HERE(cuLaunchCooperativeKernel)
DT_NOT_HERE(cuLaunchKernel)
DT_NOT_HERE(cuLaunchKernelEx)
DT_NOT_HERE(cuLibraryLoadFromFile)
DT_NOT_HERE(cuLinkAddData)
DT_NOT_HERE(cuLinkComplete)
DT_NOT_HERE(cuLinkCreate)
DT_NOT_HERE(cuLinkDestroy)
DT_NOT_HERE(cuOccupancyMaxPotentialClusterSize)
DT_NOT_HERE(cuStreamGetCtx)

int cuLibraryLoadData(void** library) {
  *library = &made;
  return 0;
}
int cuLibraryGetKernel(void** kernel) {
  *kernel = &made;
  return 0;
}
int cuKernelGetFunction(void** function) {
  *function = &made;
  return 0;
}
int cuKernelGetAttribute(int* value) {
  *value = 0;
  return 0;
}
int cuKernelSetAttribute() {
  return 0;
}
int cuLibraryUnload() {
  return 0;
}
}
// NOLINTEND
