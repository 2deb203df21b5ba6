// An NCCL that is too old and lacks all later functions.

extern "C" int ncclGetVersion(int* version) {
  *version = 21805;
  return 0;
}
