// In place of CUDA's driver: one that is of CUDA 11.4, and is asked for no more than that.

extern "C" int cuDriverGetVersion(int* version) {  // NOLINT: this name is CUDA's
  *version = 11040;
  return 0;
}
