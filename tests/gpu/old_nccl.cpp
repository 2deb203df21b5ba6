// An NCCL that is too old, and has none of what came later.

extern "C" int ncclGetVersion(int* version) {
  *version = 21805;
  return 0;
}
