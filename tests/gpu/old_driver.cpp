// Stands in for CUDA's driver. Its version is CUDA 11.4, or the one that OLD_DRIVER names (12040: 12.4).
// Programs ask it for nothing else.

#include <cstdlib>

extern "C" int cuDriverGetVersion(int* version) {  // NOLINT: this name is CUDA's
  const char* const said = std::getenv("OLD_DRIVER");
  *version = said != nullptr ? std::atoi(said) : 11040;
  return 0;
}
